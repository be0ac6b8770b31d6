"""Drive headless Chromium over its debugging pipe: NUL-terminated JSON on file descriptors 3 and 4."""

import base64
import fcntl
import json
import os
import selectors
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

INSTALL = "apt-get install -y chromium"
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def find() -> str | None:
    """Locate a browser; None if none is installed."""
    return next((path for path in map(shutil.which, _NAMES) if path), None)


def _high(end: int) -> int:
    """Duplicate an end of a pipe to a descriptor above 4, since the browser needs 3 and 4."""
    moved = fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(end)
    return moved


class Browser:
    """One browser process; its pages share storage only within one `context`."""

    def __init__(self, executable: str, profile: Path) -> None:
        self.errors = (profile / "chromium.log").open("wb")
        ours_in, theirs_out = (_high(end) for end in os.pipe())
        theirs_in, ours_out = (_high(end) for end in os.pipe())
        flags = (
            "--headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run --disable-extensions "
            "--disable-background-networking --disable-component-update --disable-sync --hide-scrollbars "
            "--force-color-profile=srgb --remote-debugging-pipe"
        )

        def place() -> None:
            os.dup2(theirs_in, 3)
            os.dup2(theirs_out, 4)

        self.process = subprocess.Popen(
            [executable, *flags.split(), f"--user-data-dir={profile / 'user'}", "about:blank"],
            stdin=subprocess.DEVNULL,
            stdout=self.errors,
            stderr=self.errors,
            pass_fds=(3, 4),
            preexec_fn=place,
            env={**os.environ, "HOME": str(profile)},
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self.reader, self.writer = ours_in, ours_out
        self.selector = selectors.DefaultSelector()
        self.selector.register(ours_in, selectors.EVENT_READ)
        self.buffer = b""
        self.count = 0
        self.events: list[dict[str, Any]] = []

    def call(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
        self.count += 1
        message: dict[str, Any] = {"id": self.count, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.writer, data) :]
        number = self.count
        while True:
            answer = self.receive(300)
            if answer.get("id") == number:
                if "error" in answer:
                    raise AssertionError(f"{method}: {answer['error']}")
                result: dict[str, Any] = answer["result"]
                return result
            self.events.append(answer)

    def receive(self, seconds: float) -> dict[str, Any]:
        until = time.monotonic() + seconds
        while b"\0" not in self.buffer:
            if not self.selector.select(max(0, until - time.monotonic())):
                raise TimeoutError("chromium did not answer")
            chunk = os.read(self.reader, 1 << 20)
            if not chunk:
                raise AssertionError("chromium ended")
            self.buffer += chunk
        first, self.buffer = self.buffer.split(b"\0", 1)
        answer: dict[str, Any] = json.loads(first)
        return answer

    def page(self, **settings: Any) -> "Page":
        return Page(self, **settings)

    def close(self) -> None:
        try:
            self.call("Browser.close")
        except (AssertionError, OSError, TimeoutError):
            self.process.kill()
        self.process.wait(300)
        self.selector.close()
        os.close(self.reader)
        os.close(self.writer)
        self.errors.close()


class Page:
    """A page with its own storage, whose console and requests are recorded from before it loads."""

    def __init__(
        self,
        browser: Browser,
        *,
        width: int = 1440,
        height: int = 900,
        scheme: str = "light",
        script: bool = True,
        context: str | None = None,
    ) -> None:
        self.browser = browser
        self.context = context or browser.call("Target.createBrowserContext")["browserContextId"]
        target = browser.call("Target.createTarget", url="about:blank", browserContextId=self.context)["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network", "DOM", "Accessibility"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.media(scheme)
        self.call("Emulation.setFocusEmulationEnabled", enabled=True)
        self.call("Emulation.setScriptExecutionDisabled", value=not script)

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        return self.browser.call(method, self.session, **params)

    def media(self, scheme: str, kind: str = "") -> None:
        features = [
            {"name": "prefers-color-scheme", "value": scheme},
            {"name": "prefers-reduced-motion", "value": "reduce"},
        ]
        self.call("Emulation.setEmulatedMedia", media=kind, features=features)

    def open(self, url: str) -> "Page":
        loaded = self.call("Page.navigate", url=url)
        assert not loaded.get("errorText"), loaded
        if "loaderId" in loaded:  # absent if only the hash changed
            self.wait(lambda: any(e.get("method") == "Page.loadEventFired" for e in self.mine()))
        return self

    def mine(self) -> list[dict[str, Any]]:
        return [event for event in self.browser.events if event.get("sessionId") == self.session]

    def wait(self, holds: Callable[[], bool], seconds: float = 200) -> None:
        until = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < until, "the condition was not met in time"
            self.call("Runtime.enable")  # any call reads pending events
            time.sleep(0.01)

    def evaluate(self, code: str) -> Any:
        answer = self.call("Runtime.evaluate", expression=code, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def press(self, *keys: str, shift: bool = False) -> None:
        for key in keys:
            text = {"Enter": "\r", " ": " "}.get(key, "")
            code = {"Enter": 13, "Escape": 27, "Tab": 9, " ": 32, "End": 35, "Home": 36, "PageUp": 33, "PageDown": 34}
            arrows = {"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}
            values = {
                "key": key,
                "code": "Space" if key == " " else key,
                "windowsVirtualKeyCode": (code | arrows)[key],
                "modifiers": 8 if shift else 0,
            }
            self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **values)
            self.call("Input.dispatchKeyEvent", type="keyUp", **values)

    def click(self, selector: str) -> None:
        spot = self.evaluate(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            "e.scrollIntoView({block: 'nearest', inline: 'nearest'});"
            "const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=spot[0], y=spot[1], button="left", clickCount=1)

    def close(self) -> None:
        self.call("Page.close")
        self.browser.events = [event for event in self.browser.events if event.get("sessionId") != self.session]

    def complaints(self) -> list[str]:
        """Messages of the console and the log, and uncaught exceptions."""
        kinds = ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")
        return [json.dumps(e["params"]) for e in self.mine() if e.get("method") in kinds]

    def requests(self) -> list[str]:
        """Every requested URL."""
        asked = [e["params"]["request"]["url"] for e in self.mine() if e.get("method") == "Network.requestWillBeSent"]
        return [url for url in asked if url != "about:blank"]

    def screenshot(self, path: Path, *, whole: bool = False) -> None:
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        path.write_bytes(base64.b64decode(data))
