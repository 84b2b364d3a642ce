"""A plugin for pytest that keeps the conformance kit on this machine.

The kit's webhook receiver listens on all addresses whatever it is told. Here every socket that would listen
beyond loopback listens on 127.0.0.1 instead, and no connection leaves the machine.
"""

import ipaddress
import socket


def _inside(address):
    if not isinstance(address, tuple):
        return True  # a Unix socket
    try:
        return ipaddress.ip_address(address[0]).is_loopback
    except ValueError:
        return address[0] == "localhost"


_bind, _connect = socket.socket.bind, socket.socket.connect


def _bind_inside(self, address):
    return _bind(self, address if _inside(address) else ("127.0.0.1", *address[1:]))


def _connect_inside(self, address):
    if not _inside(address):
        raise OSError(f"the kit may only talk to this machine, not to {address[0]}")
    return _connect(self, address)


socket.socket.bind = _bind_inside
socket.socket.connect = _connect_inside
