# SPDX-License-Identifier: Apache-2.0
"""Drives a headless Chromium by WebDriver: https://www.w3.org/TR/webdriver2/."""
import base64
import http.client
import json
import shutil
import socket
import subprocess
import time


class Browser:
    """One window. `errors` holds what its console said at level SEVERE."""

    def __init__(self, width=1280, height=900, dark=False):
        driver = shutil.which("chromedriver")
        if not driver or not shutil.which("chromium"):
            raise SystemExit("needs chromium and chromedriver: packaging/deps.sh page")
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        self.process = subprocess.Popen([driver, f"--port={self.port}", "--silent"],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     "--hide-scrollbars", f"--window-size={width},{height}"]
        arguments += ["--force-dark-mode"] if dark else []
        wanted = {"capabilities": {"alwaysMatch": {
            "browserName": "chrome", "goog:loggingPrefs": {"browser": "ALL"},
            "goog:chromeOptions": {"binary": shutil.which("chromium"), "args": arguments}}}}
        self.session = self._until_it_answers(wanted)["sessionId"]

    def _until_it_answers(self, wanted):
        deadline = time.monotonic() + 60
        while True:
            try:
                return self._ask("POST", "/session", wanted)
            except ConnectionError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    def _ask(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request(method, path, json.dumps(body) if body is not None else None,
                           {"Content-Type": "application/json"})
        value = json.loads(connection.getresponse().read())["value"]
        connection.close()
        if isinstance(value, dict) and "error" in value:
            raise AssertionError(f"{value['error']}: {value['message'].splitlines()[0]}")
        return value

    def _do(self, method, path, body=None):
        return self._ask(method, f"/session/{self.session}{path}", body)

    def go(self, url):
        self._do("POST", "/url", {"url": url})

    def run(self, script, *arguments):
        """The value of a script's `return`."""
        return self._do("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def text(self, selector="body"):
        return self.run("return document.querySelector(arguments[0])?.innerText ?? ''", selector)

    def drag(self, x, y, to_x, to_y):
        """With the left button, in pixels of the window."""
        move = [{"type": "pointerMove", "duration": 0, "x": x, "y": y},
                {"type": "pointerDown", "button": 0}]
        move += [{"type": "pointerMove", "duration": 20, "x": x + (to_x - x) * i // 5,
                  "y": y + (to_y - y) * i // 5} for i in range(1, 6)]
        move += [{"type": "pointerUp", "button": 0}]
        self._do("POST", "/actions", {"actions": [
            {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": move}]})

    def key(self, key):
        """Presses and releases one; codes: https://www.w3.org/TR/webdriver2/#keyboard-actions."""
        self._do("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": [
            {"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]}]})

    def screenshot(self, path):
        path.write_bytes(base64.b64decode(self._do("GET", "/screenshot")))

    def errors(self):
        return [e["message"] for e in self._do("POST", "/se/log", {"type": "browser"})
                if e["level"] == "SEVERE"]

    def close(self):
        try:
            self._do("DELETE", "")
        finally:
            self.process.terminate()
            self.process.wait()
