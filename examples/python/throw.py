#!/usr/bin/env python3
"""Looks at a Nimbus world, throws a ball into it, and asks what is where.

    nimbus run examples/hello.toml
    python3 examples/python/throw.py 127.0.0.1 7777

Python 3.8 or newer, nothing else. Ends with 0 when everything came, else with 1 and a sentence.
"""

import collections
import sys
import time

from nimbus_client import NimbusClient
from websocket import Closed

PATIENCE_S = 20.0


class Missing(Exception):
    """Something did not come, or was not what it should be."""


def until(client, what, found):
    """Takes in messages until `found(message)` is something; `message` is None for one about bodies."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        message = client.next()
        if message is not None and message["type"] == "refused":
            raise Missing(f"command {message['seq']} was refused: {message['reason']}")
        result = found(message)
        if result:
            return result
    raise Missing(f"{what} did not come within {PATIENCE_S:.0f} s")


def summary(client):
    """A few lines about the world."""
    world = client.world
    print(f"world `{world['name']}`: {world['about']}")
    print(f"  {world['tick_hz']} ticks a second, {len(world['statics'])} statics, era {world['era']}")
    print(f"  {len(client.map['regions'])} regions, {len(client.bodies)} bodies at tick {client.tick}")
    forms = collections.Counter(next(iter(client.shapes[body.shape])) for body in client.bodies.values())
    print("  " + ", ".join(f"{count} x {form}" for form, count in sorted(forms.items())))


def throw(client):
    """Throws a ball and returns it once it is seen in motion."""
    ball = {"ball": {"radius": 0.4}}
    seq = client.command("spawn", shape=ball, position=[-20.0, 6.0, 15.0], velocity=[4.0, 3.0, 0.0], restitution=0.5)
    done = until(client, "`done`", lambda m: m if m and m["type"] == "done" and m["seq"] == seq else None)
    print(f"threw ball {done['nid']}")

    def moving(_message):
        body = client.body(done["nid"])
        return body if body and body.tick and body.position[0] > -19.5 else None

    body = until(client, f"motion of {done['nid']}", moving)
    place = ", ".join(f"{value:.2f}" for value in body.position)
    print(f"  it is at {place} on region {body.region} at tick {body.tick}")
    return body


def ask(client, body):
    """Casts a ray to the ground, and looks for the ball where it was seen."""
    ray = {"origin": [-30.0, 20.0, -30.0], "direction": [0.0, -1.0, 0.0], "max": 100.0}
    queries = [{"ray": ray}, {"nearest": {"position": list(body.position), "max": 5.0}}]
    seq = client.command("query", queries=queries)
    hits = until(client, "`hits`", lambda m: m if m and m["type"] == "hits" and m["seq"] == seq else None)
    print(f"what is where at tick {hits['tick']}, {hits['age']} ticks ago:")
    hit, near = hits["answers"][0]["ray"], hits["answers"][1]["nearest"]
    if hit is None or abs(hit["distance"] - 20.0) > 0.01 or hit["normal"][1] < 0.99:
        raise Missing(f"the ray should have met the ground 20 m below: {hit}")
    print(f"  the ray meets {hit['nid']} after {hit['distance']:.2f} m")
    if near is None or near["nid"] != body.nid:
        raise Missing(f"the ball {body.nid} should be where it was seen: {near}")
    print(f"  nearest to where the ball was: {near['nid']}, {near['distance']:.2f} m away")


def main():
    if len(sys.argv) != 3 or not sys.argv[2].isdigit():
        print(f"usage: {sys.argv[0]} HOST PORT", file=sys.stderr)
        return 2
    host, port = sys.argv[1], int(sys.argv[2])
    try:
        client = NimbusClient(host, port, PATIENCE_S)
        until(client, "the world", lambda _: client.welcome and client.world and client.map)
        until(client, "bodies in motion", lambda _: client.bodies and client.tick)
        summary(client)
        ask(client, throw(client))
        client.connection.close()
    except (Missing, Closed, OSError) as problem:
        print(f"throw: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
