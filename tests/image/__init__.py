"""The image, built and run as the chart runs it: `make image-check`."""
