"""Messages between a run and its workers."""

import os
import socket
import threading

from patchtool.matrix.running.channel import Channel


def ends() -> tuple[Channel, Channel]:
    ours, theirs = socket.socketpair()
    return Channel(ours), Channel(theirs)


def test_messages_that_arrive_together_are_all_waited_for() -> None:
    one, other = ends()
    for number in range(3):
        one.send({"number": number})
    for number in range(3):
        assert other.wait(0)
        assert other.receive() == {"number": number}
    assert not other.wait(0)


def test_long_message_arrives_whole() -> None:
    one, other = ends()
    message = {"text": "x" * (4 << 20)}
    sending = threading.Thread(target=one.send, args=[message])
    sending.start()
    assert other.receive() == message
    sending.join()


def test_file_comes_with_its_message() -> None:
    one, other = ends()
    reading, writing = os.pipe()
    one.send({"name": "without"})
    one.send({"name": "with"}, writing)
    os.close(writing)
    assert other.receive() == {"name": "without"}
    message = other.receive()
    assert message is not None
    os.write(message["file"], b"written")
    os.close(message["file"])
    assert os.read(reading, 20) == b"written"
    os.close(reading)


def test_closed_end_is_no_message() -> None:
    one, other = ends()
    one.close()
    assert other.wait(0)
    assert other.receive() is None
