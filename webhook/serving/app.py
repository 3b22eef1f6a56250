"""The Flask application: /mutate and /validate, the size limit and status codes."""

from __future__ import annotations

from collections.abc import Iterable
from http import HTTPStatus
from wsgiref.types import StartResponse, WSGIEnvironment

from flask import Flask, Request, Response, request
from werkzeug.exceptions import HTTPException, RequestEntityTooLarge
from werkzeug.routing import MapAdapter

from webhook.admission.request import MUTATE, VALIDATE
from webhook.serving.reviewer import Answer, Reviewer
from webhook.transport.limits import Limits

JSON = "application/json"
STATUS = {one.value: f"{one.value} {one.phrase}" for one in HTTPStatus}
PHASES = {f"/{phase}": phase for phase in (MUTATE, VALIDATE)}


class App(Flask):
    """
    Answers a review, as API servers send it, before Flask looks at the request: its dispatch takes longer than that.

    Flask matches what is left by path and method only: no URL is built, so the host that a client names is not read.
    """

    def __init__(self, reviewer: Reviewer) -> None:
        super().__init__("evenkeel", static_folder=None)
        self.reviewer = reviewer
        self.url_map.merge_slashes = False  # no redirects: the API server does not follow them

    def wsgi_app(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        phase = PHASES.get(environ["PATH_INFO"])
        if phase is None or environ["REQUEST_METHOD"] != "POST" or not _is_plain_json(environ):
            return super().wsgi_app(environ, start_response)
        body = _body(environ)
        if body is None:
            return super().wsgi_app(environ, start_response)
        answer = self.reviewer.answer(phase, body)
        headers = [("Content-Type", JSON), ("Content-Length", str(len(answer.body)))]
        start_response(STATUS[answer.code], headers)
        return (answer.body,)

    def create_url_adapter(self, request: Request | None) -> MapAdapter | None:
        if request is None:
            return super().create_url_adapter(None)
        return MapAdapter(self.url_map, "", "/", "", "https", request.path, request.method)


def _is_plain_json(environ: WSGIEnvironment) -> bool:
    return environ.get("CONTENT_TYPE") == JSON and "HTTP_CONTENT_ENCODING" not in environ


def create_app(reviewer: Reviewer) -> Flask:
    """The application, in which `reviewer` answers reviews."""
    app = App(reviewer)

    @app.post("/mutate", endpoint=MUTATE, provide_automatic_options=False)
    @app.post("/validate", endpoint=VALIDATE, provide_automatic_options=False)
    def review() -> Response:
        given: Request = request._get_current_object()  # type: ignore[attr-defined]
        kind, encoding = given.environ.get("CONTENT_TYPE", ""), given.environ.get("HTTP_CONTENT_ENCODING", "identity")
        if kind != JSON and given.mimetype != JSON:
            return _json(reviewer.refuse(415, f"Content-Type: found {kind or 'none'}, wanted {JSON}"))
        if encoding not in ("", "identity"):
            return _json(reviewer.refuse(415, f"Content-Encoding: found {encoding}, wanted none"))
        body = _body(given.environ)
        if body is None:
            raise RequestEntityTooLarge
        return _json(reviewer.answer(str(given.endpoint), body))

    @app.errorhandler(HTTPException)
    def refused(error: HTTPException) -> Response:
        known = error.code if error.code in (400, 404, 405, 413, 500) else 400
        limit = f"body: found more than {Limits.body_bytes} bytes" if isinstance(error, RequestEntityTooLarge) else None
        wanted = {
            404: "wanted POST /mutate or /validate; probes and metrics are at --health-bind",
            405: "wanted POST",
        }.get(known, error.name)
        response = _json(reviewer.refuse(known, limit or f"{request.method} {request.path}: {wanted}"))
        if known == 405:
            response.headers["Allow"] = ", ".join(sorted(error.valid_methods or ()))  # type: ignore[attr-defined]
        return response

    return app


def _body(environ: WSGIEnvironment) -> bytes | None:
    """
    The whole body, which the worker has read already: werkzeug's own stream would check it again and cost more.

    None if it is too large; it can be read again then.
    """
    body: bytes = environ["wsgi.input"].read(Limits.body_bytes + 1)
    if len(body) <= Limits.body_bytes:
        return body
    environ["wsgi.input"].seek(0)
    return None


def _json(answer: Answer) -> Response:
    return Response(answer.body, answer.code, content_type=JSON)
