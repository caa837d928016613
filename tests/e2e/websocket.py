"""A small WebSocket client (RFC 6455) for tickertape.v1, over a plain socket."""

import base64
import json
import os
import socket
import struct
import urllib.error
import urllib.request

GUARD_S = 300


class WebSocket:
    """Text frames as JSON; reads block until one is there."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), GUARD_S)
        self.stream = self.socket.makefile("rb")
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall((f"GET /v1/stream HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
                             "Upgrade: websocket\r\nConnection: Upgrade\r\n"
                             f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n"
                             "Sec-WebSocket-Protocol: tickertape.v1\r\n\r\n").encode())
        status = self.stream.readline()
        assert b" 101 " in status, status
        while self.stream.readline() not in (b"\r\n", b""):
            pass
        self.hello = self.until("hello")[-1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.stream.close()
        self.socket.close()

    def send(self, **frame):
        text = json.dumps(frame).encode()
        size = bytes([0x80 | len(text)]) if len(text) < 126 else b"\xfe" + struct.pack(">H", len(text))
        self.socket.sendall(b"\x81" + size + bytes(4) + text)  # A mask of zeros changes nothing.

    def read(self):
        """The next text frame, or None when the server has closed."""
        while True:
            head = self.stream.read(2)
            if len(head) < 2 or head[0] & 0x0F == 8:
                return None
            size = head[1] & 0x7F
            if size == 126:
                size = struct.unpack(">H", self.stream.read(2))[0]
            elif size == 127:
                size = struct.unpack(">Q", self.stream.read(8))[0]
            text = self.stream.read(size)
            if head[0] & 0x0F == 1:
                return json.loads(text)

    def until(self, *types):
        """All frames up to the first of one of these types."""
        frames = []
        while not frames or frames[-1]["type"] not in types:
            frame = self.read()
            assert frame is not None, f"closed before {types}: {frames}"
            frames.append(frame)
        return frames

    def answer(self, **submit):
        """(text, the done or error frame) of one generation."""
        self.send(type="submit", **submit)
        frames = self.until("done", "error")
        return "".join(frame.get("text", "") for frame in frames), frames[-1]


def get(url):
    """(status, text) of a GET, whatever the status."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=GUARD_S) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
