"""What a Nimbus gateway says, as docs/protocol.md describes it: JSON for text, words for bodies."""

import json
import struct

from websocket import WebSocket

CREATE, DESTROY, OWNER, STATE, LEAVE = 1, 2, 3, 4, 8


class Body:
    """A body as it was seen last."""

    def __init__(self, nid, shape, region, position):
        self.nid = nid
        self.shape = shape
        self.region = region
        self.position = position
        self.tick = None


class NimbusClient:
    """Knows the world that a gateway shows. Call `next` again and again; ask with `command`."""

    def __init__(self, host, port, timeout_s=20.0):
        self.connection = WebSocket(host, port, "/ws", timeout_s)
        self.welcome = None
        self.world = None
        self.map = None
        self.stats = None
        self.shapes = {}
        self.bodies = {}
        self.tick = None
        self.seq = 0

    def command(self, kind, **fields):
        """Sends a command; the number comes back in its answer."""
        self.seq += 1
        self.connection.send_text(json.dumps({"type": kind, "seq": self.seq, **fields}))
        return self.seq

    def next(self):
        """Takes in one message. Returns it if it is text, as a dict; None if it was about bodies."""
        message = self.connection.next_message()
        if isinstance(message, bytes):
            self._bodies(message)
            return None
        message = json.loads(message)
        kind = message["type"]
        if kind == "welcome":
            self.welcome = message
        elif kind == "world":
            self.world = message
            self.shapes, self.bodies, self.tick = {}, {}, None
        elif kind == "map":
            self.map = message
        elif kind == "stats":
            self.stats = message
        elif kind == "shape":
            self.shapes[message["id"]] = message["shape"]
        return message

    def body(self, nid):
        """The body of this id, or None."""
        return next((body for body in self.bodies.values() if body.nid == nid), None)

    def _bodies(self, message):
        kind, count = struct.unpack_from("<II", message)
        if kind == CREATE:
            for i in range(count):
                record = struct.unpack_from("<IQIHBB3f4f", message, 8 + 48 * i)
                slot, nid, shape, region = record[:4]
                nid = f"{nid >> 48}.{nid & ((1 << 48) - 1)}"
                self.bodies[slot] = Body(nid, shape, region, record[6:9])
        elif kind in (DESTROY, LEAVE):
            for slot in struct.unpack_from(f"<{count}I", message, 8):
                self.bodies.pop(slot, None)
        elif kind == OWNER:
            for i in range(count):
                slot, region, _flags = struct.unpack_from("<IHH", message, 8 + 8 * i)
                if slot in self.bodies:
                    self.bodies[slot].region = region
        elif kind == STATE:
            (self.tick,) = struct.unpack_from("<Q", message, 8)
            slots = struct.unpack_from(f"<{count}I", message, 16)
            places = struct.unpack_from(f"<{3 * count}f", message, 16 + 4 * count)
            for i, slot in enumerate(slots):
                if slot in self.bodies:
                    self.bodies[slot].position = places[3 * i : 3 * i + 3]
                    self.bodies[slot].tick = self.tick
