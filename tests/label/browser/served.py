"""The command ``linkwise label`` as a process, and its page in a browser."""

import os
import re
import subprocess
import sys
import time

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.support.ui import WebDriverWait


class Served:
    """A server that can be killed and started again, and a page that shows it."""

    def __init__(self, browser, folder, *arguments):
        self.browser, self.folder, self.arguments = browser, folder, arguments
        self.process = None
        self.start()

    def start(self):
        command = [sys.executable, "-m", "linkwise", "label", *self.arguments]
        self.process = subprocess.Popen(
            [*command, "--no-browser"],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        )
        said = ""
        for line in self.process.stdout:
            said += line
            if "Ctrl-C" in line:
                break
        found = re.search(r"http://\S+", said)
        if found is None:
            self.close()
            raise AssertionError(said)
        self.url = found.group()

    def kill(self):
        self.process.kill()
        self.process.stdout.close()
        self.process.wait()

    def close(self):
        if self.process.poll() is None:
            self.process.terminate()
        self.process.stdout.close()
        self.process.wait(30)

    def open(self):
        self.browser.get("about:blank")  # another fragment alone loads nothing
        self.browser.get(self.url)
        self.until(self.pair)

    def until(self, condition, seconds=60):
        return WebDriverWait(self.browser, seconds, 0.05).until(lambda _: condition())

    def js(self, code, *arguments):
        return self.browser.execute_script(f"return {code}", *arguments)

    def text(self, selector):
        code = "document.querySelector(arguments[0])?.innerText ?? ''"
        return self.js(code, selector)

    def pair(self):
        """Return the ids of the two rows that are asked about."""
        code = "[...document.querySelectorAll('#ask-card thead .id')]"
        return self.js(f"{code}.map((node) => node.textContent)")

    def press(self, *keys):
        for key in keys:
            ActionChains(self.browser).send_keys(key).perform()

    def answer(self, word):
        """Answer by a key, and wait for the next pair."""
        self.ready()
        before = self.js("document.body.dataset.revision")
        self.press({"same": "a", "different": "x", "unsure": "u"}[word])
        self.until(lambda: self.js("document.body.dataset.revision") != before)

    def ready(self):
        """Wait until keys are taken, a moment after a pair has come."""
        code = "document.querySelector('#ask-card').dataset.state"
        self.until(lambda: self.js(code) == "ready")

    def idle(self):
        """Wait until no fit runs, and the page knows of it."""
        code = "document.getElementById('worker').className"
        self.until(lambda: self.js(code) != "fitting", 120)
        time.sleep(0.5)
