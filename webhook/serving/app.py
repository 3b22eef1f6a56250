"""The Flask application: /mutate and /validate, the size limit and status codes."""

from __future__ import annotations

from collections.abc import Iterable
from wsgiref.types import StartResponse, WSGIEnvironment

import flask
from flask import Flask, Request, request
from werkzeug.exceptions import HTTPException, RequestEntityTooLarge
from werkzeug.routing import MapAdapter

from webhook.admission.request import MUTATE, VALIDATE
from webhook.serving.reviewer import Answer, Reviewer
from webhook.transport.limits import Limits

JSON = "application/json"


class Response(flask.Response):
    """A response with a whole body and no URL in its headers: werkzeug looks for URLs to complete, and for streams."""

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if environ["REQUEST_METHOD"] == "HEAD":
            return super().__call__(environ, start_response)
        start_response(self.status, self.headers.to_wsgi_list())
        return self.response  # type: ignore[return-value]


class App(Flask):
    """Flask that matches by path and method only: no URL is ever built, so the host that a client names is not read."""

    response_class = Response

    def create_url_adapter(self, request: Request | None) -> MapAdapter | None:
        if request is None:
            return super().create_url_adapter(None)
        return MapAdapter(self.url_map, "", "/", "", "https", request.path, request.method)


def create_app(reviewer: Reviewer) -> Flask:
    """The application, in which `reviewer` answers reviews."""
    app = App("evenkeel", static_folder=None)
    app.url_map.merge_slashes = False  # no redirects: the API server does not follow them

    @app.post("/mutate", endpoint=MUTATE, provide_automatic_options=False)
    @app.post("/validate", endpoint=VALIDATE, provide_automatic_options=False)
    def review() -> Response:
        given: Request = request._get_current_object()  # type: ignore[attr-defined]
        kind, encoding = given.environ.get("CONTENT_TYPE", ""), given.environ.get("HTTP_CONTENT_ENCODING", "identity")
        if kind != JSON and given.mimetype != JSON:
            return _json(reviewer.refuse(415, f"Content-Type: found {kind or 'none'}, wanted {JSON}"))
        if encoding not in ("", "identity"):
            return _json(reviewer.refuse(415, f"Content-Encoding: found {encoding}, wanted none"))
        return _json(reviewer.answer(str(given.endpoint), _body(given)))

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


def _body(given: Request) -> bytes:
    """The whole body, which the worker has read already: werkzeug's own stream would check it again and cost more."""
    body: bytes = given.environ["wsgi.input"].read(Limits.body_bytes + 1)
    if len(body) > Limits.body_bytes:
        raise RequestEntityTooLarge
    return body


def _json(answer: Answer) -> Response:
    return Response(answer.body, answer.code, content_type=JSON)
