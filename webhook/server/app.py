"""The Flask application: POST /mutate and /validate."""

from __future__ import annotations

from flask import Flask, Request, Response, request
from werkzeug.exceptions import HTTPException
from werkzeug.routing import MapAdapter

from webhook.admission.request import MUTATE, VALIDATE
from webhook.server.reviewer import Answer, Reviewer

JSON_TYPE = "application/json"
WANTED = {404: "wanted POST /mutate or /validate; probes and metrics are at --health-bind", 405: "wanted POST"}


class App(Flask):
    """Matches a request by path and method only: the host that a client names is neither read nor checked."""

    def create_url_adapter(self, request: Request | None) -> MapAdapter | None:
        if request is None:
            return super().create_url_adapter(None)
        return MapAdapter(self.url_map, "", "/", "", "https", request.path, request.method)


def create_app(reviewer: Reviewer) -> Flask:
    """The application in which `reviewer` answers reviews."""
    app = App("evenkeel", static_folder=None)
    app.url_map.merge_slashes = False  # no redirects: the API server does not follow them

    @app.post("/mutate", endpoint=MUTATE, provide_automatic_options=False)
    @app.post("/validate", endpoint=VALIDATE, provide_automatic_options=False)
    def review() -> Response:
        if request.mimetype != JSON_TYPE:
            content_type = request.content_type or "none"
            return _response(reviewer.refuse(415, f"Content-Type: found {content_type}, wanted {JSON_TYPE}"))
        encoding = request.headers.get("Content-Encoding", "identity")
        if encoding not in ("", "identity"):
            return _response(reviewer.refuse(415, f"Content-Encoding: found {encoding}, wanted none"))
        body = request.environ["wsgi.input"].read()  # The worker has read it, within its bounds.
        return _response(reviewer.answer(str(request.endpoint), body))

    @app.errorhandler(HTTPException)
    def refuse(error: HTTPException) -> Response:
        code = error.code if error.code in (400, 404, 405, 500) else 400
        message = f"{request.method} {request.path}: {WANTED.get(code, error.name)}"
        response = _response(reviewer.refuse(code, message))
        response.headers.extend((name, value) for name, value in error.get_headers() if name == "Allow")
        return response

    return app


def _response(answer: Answer) -> Response:
    return Response(answer.body, answer.code, content_type=JSON_TYPE)
