"""The Flask application: routes, size limit and status codes; it decides nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from flask import Flask, Request, Response, request
from werkzeug.exceptions import HTTPException, RequestEntityTooLarge

from webhook.admission.request import MUTATE, VALIDATE
from webhook.serving.reviewer import Answer, Reviewer

# kube-apiserver escapes <, > and & when it sends an object of up to 3 MiB, old and new: some 36 MiB at most.
BODY_LIMIT = 40 * 1024 * 1024
JSON = "application/json"


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that must hold before reviews are sent here."""

    name: str
    ok: bool
    detail: str


def create_app(service: Reviewer, checks: Callable[[], Sequence[Check]]) -> Flask:
    """The application over a service; `checks` answer /readyz."""
    app = Flask("evenkeel", static_folder=None)
    app.url_map.strict_slashes = app.url_map.merge_slashes = False  # no redirections: who asks does not follow them

    @app.post("/mutate", endpoint=MUTATE)
    @app.post("/validate", endpoint=VALIDATE)
    def review() -> Response:
        given: Request = request._get_current_object()  # type: ignore[attr-defined]
        kind, encoding = given.environ.get("CONTENT_TYPE", ""), given.environ.get("HTTP_CONTENT_ENCODING", "identity")
        if kind != JSON and given.mimetype != JSON:
            return _json(service.refuse(415, f"Content-Type: found {kind or 'none'}, wanted {JSON}"))
        if encoding not in ("", "identity"):
            return _json(service.refuse(415, f"Content-Encoding: found {encoding}, wanted none"))
        return _json(service.answer(str(given.endpoint), _body(given)))

    @app.get("/healthz")
    def healthz() -> Response:
        return _text("ok\n")

    @app.get("/readyz")
    def readyz() -> Response:
        found = checks()
        ready = all(check.ok for check in found)
        lines = [f"[{'+' if check.ok else '-'}] {check.name}: {check.detail}" for check in found]
        shown = lines if "verbose" in request.args or not ready else []
        return _text("\n".join((*shown, "ready" if ready else "not ready", "")), 200 if ready else 503)

    @app.get("/metrics")
    def metrics() -> Response:
        return Response(service.metrics.text(), content_type="text/plain; version=0.0.4; charset=utf-8")

    @app.errorhandler(HTTPException)
    def refused(error: HTTPException) -> Response:
        known = error.code if error.code in (400, 404, 405, 413) else 400
        limit = f"body: found more than {BODY_LIMIT} bytes" if isinstance(error, RequestEntityTooLarge) else None
        response = _json(service.refuse(known, limit or f"{request.method} {request.path}: {error.name}"))
        if known == 405:
            response.headers["Allow"] = ", ".join(sorted(error.valid_methods or ()))  # type: ignore[attr-defined]
        return response

    return app


def _body(given: Request) -> bytes:
    """All there is: the worker hands over whole bodies, and werkzeug's guards around the stream cost more than this."""
    body: bytes = given.environ["wsgi.input"].read(BODY_LIMIT + 1)
    if len(body) > BODY_LIMIT:
        raise RequestEntityTooLarge
    return body


def _json(answer: Answer) -> Response:
    return Response(answer.body, answer.code, content_type=JSON)


def _text(text: str, code: int = 200) -> Response:
    return Response(text, code, content_type="text/plain; charset=utf-8")
