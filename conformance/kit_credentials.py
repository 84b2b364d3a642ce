"""A plugin for pytest: the conformance kit for 1.0 shows who it is when it asks for the extended card.

A2A 1.0 §13.3 has servers authenticate that operation, and the kit asks for it without credentials. Here it gets the
token in KIT_TOKEN for it, over HTTP and gRPC. All its other calls stay as they are.
"""

import collections
import json
import os

OPERATION = "GetExtendedAgentCard"
PATH = "/extendedAgentCard"


def credentials():
    return f"Bearer {os.environ['KIT_TOKEN']}"


def is_for_the_card(request):
    if request.url.path.endswith(PATH):
        return True
    try:
        return json.loads(request.content).get("method") == OPERATION
    except (ValueError, AttributeError):
        return False


def pytest_configure(config):
    lend_to_http()
    lend_to_grpc()


def lend_to_http():
    import httpx

    send = httpx.Client.send

    def send_known(self, request, **options):
        # A body that comes in pieces is a stream, and no call for a card.
        whole = hasattr(request, "_content")
        if whole and is_for_the_card(request) and "authorization" not in request.headers:
            request.headers["authorization"] = credentials()
        return send(self, request, **options)

    httpx.Client.send = send_known


def lend_to_grpc():
    import grpc

    fields = ("method", "timeout", "metadata", "credentials", "wait_for_ready", "compression")

    class Details(collections.namedtuple("Details", fields), grpc.ClientCallDetails):
        pass

    class Known(grpc.UnaryUnaryClientInterceptor):
        def intercept_unary_unary(self, proceed, details, request):
            if details.method.endswith(f"/{OPERATION}"):
                known = [*(details.metadata or []), ("authorization", credentials())]
                details = Details(details.method, details.timeout, known, details.credentials,
                                  details.wait_for_ready, details.compression)
            return proceed(details, request)

    connect = grpc.insecure_channel
    grpc.insecure_channel = lambda *where, **how: grpc.intercept_channel(connect(*where, **how), Known())
