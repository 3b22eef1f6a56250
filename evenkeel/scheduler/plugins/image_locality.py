"""ImageLocality: a node that has the images of the Pod already is better."""

from __future__ import annotations

from evenkeel.scheduler.images import NO_IMAGES
from evenkeel.scheduler.plugins.plugin import Parts, Plugin
from evenkeel.scheduler.profile import IMAGE_LOCALITY
from evenkeel.scheduler.resource_fit import MAX_NODE_SCORE
from evenkeel.scheduler.scheduler_nodes import ImageState
from webhook.spread.nodes import NodeSet

MEBIBYTE = 1 << 20
# upstream: image_locality.go:minThreshold, maxContainerThreshold (v1.37)
LEAST, MOST_PER_IMAGE = 23 * MEBIBYTE, 1000 * MEBIBYTE


class ImageLocality(Plugin):
    name = IMAGE_LOCALITY

    def scores(self, candidates: NodeSet) -> Parts:
        """
        Score nodes by the size of the images that they have; an image of which more nodes have a copy is worth more.

        upstream: image_locality.go:ImageLocality.Score (v1.37)
        """
        sums: Parts = [(candidates, 0)]
        states, images = self.nodes.images, self.cycle.pod.images or NO_IMAGES
        for name in images.names:
            if (state := states.get(name)) is not None:
                worth = self._worth(state)
                having = [(nodes & state.nodes, size + worth) for nodes, size in sums]
                lacking = [(nodes & ~state.nodes, size) for nodes, size in sums]
                sums = [part for part in (*having, *lacking) if part[0]]
        most = MOST_PER_IMAGE * images.number
        return [(nodes, _share(size, most)) for nodes, size in sums]

    def _worth(self, image: ImageState) -> int:
        """
        Return the size of an image, lowered by the share of nodes that do not have it.

        upstream: image_locality.go:scaledImageScore (v1.37)
        """
        return int(float(image.size) * (float(image.nodes.bit_count()) / float(len(self.nodes))))


def _share(size: int, most: int) -> int:
    """
    Return where a size lies between LEAST and the most that counts, 0 to 100.

    upstream: image_locality.go:calculatePriority (v1.37)
    """
    if size <= LEAST or most <= LEAST:
        return 0
    return MAX_NODE_SCORE * (min(size, most) - LEAST) // (most - LEAST)
