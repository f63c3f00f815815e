"""The clock of this guest, which tests set."""

import contextlib
import time


@contextlib.contextmanager
def a_clock_to_set():
    """Gives a function that sets it to so many seconds from the right time."""
    right = time.time() - time.monotonic()

    def set_off(seconds):
        time.clock_settime(time.CLOCK_REALTIME, right + time.monotonic() + seconds)

    try:
        yield set_off
    finally:
        set_off(0)


def some_way(chance):
    """Seconds, minutes, or hours, forwards or back."""
    return chance.choice((-1, 1)) * chance.choice((3, 60, 3600, 7 * 3600))
