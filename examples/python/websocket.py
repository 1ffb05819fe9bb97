"""A WebSocket client (RFC 6455) over a plain socket, as much of it as Nimbus needs."""

import base64
import hashlib
import os
import socket
import struct

TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10
CONTINUATION = 0
MESSAGE_BYTES_MAX = 64 << 20
ACCEPT_SUFFIX = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


class Closed(Exception):
    """The other side ended the connection; the message says why."""


class WebSocket:
    """One connection. Raises Closed when it ends and TimeoutError when nothing comes for too long."""

    def __init__(self, host, port, path, timeout_s):
        self.socket = socket.create_connection((host, port), timeout=timeout_s)
        self.buffer = b""
        self._shake_hands(host, port, path)

    def _shake_hands(self, host, port, path):
        key = base64.b64encode(os.urandom(16)).decode()
        request = (
            f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n"
        )
        self.socket.sendall(request.encode())
        while b"\r\n\r\n" not in self.buffer:
            self._receive()
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        status, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        digest = hashlib.sha1((key + ACCEPT_SUFFIX).encode()).digest()
        if " 101 " not in status + " ":
            raise Closed(f"this is no WebSocket: {status}")
        if headers.get("sec-websocket-accept") != base64.b64encode(digest).decode():
            raise Closed("the server did not answer our handshake")

    def _receive(self):
        piece = self.socket.recv(1 << 16)
        if not piece:
            raise Closed("the connection broke")
        self.buffer += piece

    def _take(self, count):
        while len(self.buffer) < count:
            self._receive()
        taken, self.buffer = self.buffer[:count], self.buffer[count:]
        return taken

    def _frame(self):
        first, second = self._take(2)
        length = second & 0x7F
        if length == 126:
            (length,) = struct.unpack(">H", self._take(2))
        elif length == 127:
            (length,) = struct.unpack(">Q", self._take(8))
        if second & 0x80 or length > MESSAGE_BYTES_MAX:
            raise Closed("the server sent a frame that no server sends")
        return bool(first & 0x80), first & 0x0F, self._take(length)

    def _send(self, opcode, payload):
        mask = os.urandom(4)
        if len(payload) < 126:
            length = struct.pack(">B", 0x80 | len(payload))
        elif len(payload) < 1 << 16:
            length = struct.pack(">BH", 0x80 | 126, len(payload))
        else:
            length = struct.pack(">BQ", 0x80 | 127, len(payload))
        masked = bytes(byte ^ mask[i % 4] for i, byte in enumerate(payload))
        self.socket.sendall(bytes([0x80 | opcode]) + length + mask + masked)

    def send_text(self, text):
        """Sends a text message."""
        self._send(TEXT, text.encode())

    def next_message(self):
        """The next message: a str for text, bytes for binary. Answers pings on the way."""
        kind, parts = None, []
        while True:
            last, opcode, payload = self._frame()
            if opcode == PING:
                self._send(PONG, payload)
            elif opcode == CLOSE:
                reason = payload[2:].decode(errors="replace")
                raise Closed(f"the server closed the connection: {reason or 'no reason given'}")
            elif opcode in (TEXT, BINARY, CONTINUATION):
                kind = opcode if opcode != CONTINUATION else kind
                parts.append(payload)
                if last:
                    whole = b"".join(parts)
                    return whole.decode() if kind == TEXT else whole

    def close(self):
        """Says goodbye and ends the connection."""
        try:
            self._send(CLOSE, struct.pack(">H", 1000))
        except OSError:
            pass
        self.socket.close()
