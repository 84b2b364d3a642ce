"""A plugin for pytest: the kit for 0.3 finds a gRPC server by `host:port`.

The kit reads such an address only with a scheme before it. The clients of the official SDKs hand it to gRPC as it is
and take it only without one, so that is how our cards spell it; here the kit is helped over the difference.
"""


def pytest_configure(config):
    from tck.transport import grpc_client

    parse = grpc_client.urlparse
    grpc_client.urlparse = lambda url: parse(url if "://" in url else f"http://{url}")
