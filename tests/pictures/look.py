# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What tests that look at pictures with Chromium share: the browser, claims as TAP, pixels."""
import base64
import os

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.actions.action_builder import ActionBuilder

count = failed = 0


def claim(holds, what, why=""):
    global count, failed
    count += 1
    failed += not holds
    print(f"{'ok' if holds else 'not ok'} {count} - {what}")
    if not holds:
        print(f"#   {why}")


def done():
    print(f"1..{count}")
    return failed != 0


def browser():
    options = Options()
    for option in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1240,1400",
                   "--force-device-scale-factor=1"):
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    options.set_capability("unhandledPromptBehavior", "ignore")
    return webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))


def show(driver, path, scheme="light", media="screen"):
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {
        "media": media, "features": [{"name": "prefers-color-scheme", "value": scheme}]})
    driver.get("file://" + os.path.abspath(path))


def check_requests(driver):
    requests = [e["message"] for e in driver.get_log("performance")
                if "Network.requestWillBeSent\"" in e["message"]]
    claim(all('"url":"file://' in r for r in requests) and len(requests) == 1,
          "nothing but the file is asked for", requests[:3])


def check_complaints(driver, what):
    errors = [e for e in driver.get_log("browser") if e["level"] == "SEVERE"]
    claim(not errors, f"the browser has no complaint {what}", errors)


def pointer(driver, *steps):
    """Steps of the pointer: (x, y) moves there, "down" and "up" are those of its button."""
    actions = ActionBuilder(driver, duration=0)
    for step in steps:
        if step == "down":
            actions.pointer_action.pointer_down()
        elif step == "up":
            actions.pointer_action.pointer_up()
        else:
            actions.pointer_action.move_to_location(int(step[0]), int(step[1]))
    actions.perform()


def pixels(driver, points, keep=None):
    """Colours (r, g, b) that a screenshot has at POINTS (x, y); another tab decodes it."""
    png = driver.get_screenshot_as_png()
    if keep:
        with open(keep, "wb") as f:
            f.write(png)
    picture = driver.current_window_handle
    driver.switch_to.new_window("tab")
    try:
        return [tuple(p) for p in driver.execute_async_script("""
            const [data, points, done] = arguments, image = new Image();
            image.onload = () => {
                const canvas = document.createElement('canvas');
                canvas.width = image.width;
                canvas.height = image.height;
                const context = canvas.getContext('2d');
                context.drawImage(image, 0, 0);
                done(points.map(p => Array.from(context.getImageData(p[0], p[1], 1, 1).data).slice(0, 3)));
            };
            image.src = 'data:image/png;base64,' + data;""",
            base64.b64encode(png).decode(), [[int(x), int(y)] for x, y in points])]
    finally:
        driver.close()
        driver.switch_to.window(picture)


def distance(a, b):
    """How much two colours differ: 0 to 765."""
    return sum(abs(x - y) for x, y in zip(a, b))
