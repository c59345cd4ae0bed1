"""The report page in a real browser: no request, no error, a slider that moves, tables that sort, keyboard, axe-core.

Needs Debian's chromium and chromium-driver, and selenium. axe-core is used where it is found: `npm install axe-core`
in the root of the repository (its folder is ignored), or the path of axe.min.js in AXE_CORE.
"""

from __future__ import annotations

import json
import os
import shutil
from itertools import pairwise
from pathlib import Path

import pytest
from pages import HOSTILE, bayes, blobs, boosted

selenium = pytest.importorskip("selenium", reason="selenium is not installed (pip install 'worstclass[dev]')")
CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
if not CHROMIUM or not DRIVER:
    pytest.skip(
        "chromium or chromedriver is missing (apt-get install chromium chromium-driver)", allow_module_level=True
    )

from selenium import webdriver  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402

AXE = Path(os.environ.get("AXE_CORE", Path(__file__).parents[1] / "node_modules" / "axe-core" / "axe.min.js"))


@pytest.fixture(scope="module")
def browser():
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1100,900"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def pages(tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("browser")
    boosted(folder / "booster")
    bayes(folder / "hostile", blobs(4, HOSTILE))
    bayes(folder / "many", blobs(60))
    return {place.name: place / "results" / "report.html" for place in folder.iterdir()}


def open_page(browser, file: Path, *, dark: bool = False, width: int = 1100) -> None:
    browser.get_log("performance")
    browser.get_log("browser")
    scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": scheme})
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.get(file.as_uri())


def requests(browser) -> list[str]:
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    urls = [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]
    return [url for url in urls if not url.startswith("data:")]


@pytest.mark.parametrize("name", ["booster", "hostile", "many"])
def test_a_page_asks_for_nothing_else_and_has_no_error(browser, pages, name):
    open_page(browser, pages[name])
    assert requests(browser) == [pages[name].as_uri()]
    assert browser.get_log("browser") == []
    assert browser.execute_script("return document.querySelectorAll('main script:not([type])').length") == 0


def test_the_log_of_errors_and_requests_would_show_them(browser, tmp_path):
    (tmp_path / "bad.html").write_text("<img src='missing.png'><script>throw Error('x')</script>")
    open_page(browser, tmp_path / "bad.html")
    assert len(requests(browser)) == 2
    assert browser.get_log("browser")


def test_the_slider_changes_the_chart_by_keyboard(browser, pages):
    open_page(browser, pages["booster"])

    def shown() -> tuple[str, ...]:
        bars = [bar.get_attribute("style") for bar in browser.find_elements(By.CSS_SELECTOR, ".weights i")]
        cursor = browser.find_element(By.CSS_SELECTOR, "#weights .cursor").get_attribute("x1")
        facts = browser.find_element(By.ID, "round-facts").text
        return browser.find_element(By.ID, "round-number").text, cursor, facts, *bars

    last = shown()
    slider = browser.find_element(By.ID, "round")
    slider.send_keys(Keys.HOME)
    first = shown()
    assert first[0] == "1"
    assert float(first[1]) == 0 < float(last[1])
    assert first[2:] != last[2:]
    data = json.loads(browser.find_element(By.ID, "rounds-data").get_attribute("textContent"))
    values = [value.text for value in browser.find_elements(By.CSS_SELECTOR, ".weights .value")]
    assert values == [f"{weight:.3f}" for weight in data["weights"][0]]
    assert f"worst class {100 * data['errors']['training'][0][0]:.1f}%" in first[2]
    slider.send_keys(Keys.ARROW_RIGHT)
    assert shown()[0] == "2"
    slider.send_keys(Keys.END)
    assert (shown()[0], shown()[2]) == (last[0], last[2])


def test_tables_sort_by_value_both_ways(browser, pages):
    open_page(browser, pages["many"])
    table = browser.find_element(By.CSS_SELECTOR, "#errors ~ .scroll table")

    def column(number: int) -> list[str]:
        texts = "return [...arguments[0].tBodies[0].rows].map(row => row.cells[arguments[1]].textContent.trim())"
        return browser.execute_script(texts, table, number)

    heads = table.find_elements(By.CSS_SELECTOR, "thead th")
    errors = [float(text.rstrip("%")) for text in column(1)]
    assert errors == sorted(errors, reverse=True)
    heads[0].find_element(By.TAG_NAME, "button").click()
    assert column(0) == sorted(column(0))
    assert heads[0].get_attribute("aria-sort") == "ascending"
    error = heads[1].find_element(By.TAG_NAME, "button")
    error.send_keys(Keys.ENTER)
    error.send_keys(Keys.ENTER)
    errors = [float(text.rstrip("%")) for text in column(1)]
    assert errors == sorted(errors)
    assert (heads[0].get_attribute("aria-sort"), heads[1].get_attribute("aria-sort")) == (None, "ascending")


def test_the_keyboard_reaches_everything_in_the_order_of_the_page(browser, pages):
    open_page(browser, pages["booster"])
    browser.find_element(By.TAG_NAME, "body").send_keys(Keys.TAB)
    places = []
    for _ in range(80):
        focus = browser.switch_to.active_element
        if focus.tag_name == "body" or (focus.get_attribute("class") == "skip" and places):
            break
        where = "return arguments[0].getBoundingClientRect().top + scrollY"
        places.append((focus.tag_name, focus.get_attribute("id") or focus.text, browser.execute_script(where, focus)))
        focus.send_keys(Keys.TAB)
    names = [(tag, name) for tag, name, _ in places]
    assert names[:2] == [("a", "Skip to the report"), ("button", "theme")]
    assert ("input", "round") in names
    assert ("button", "error") in names
    tops = [top for tag, _, top in places[2:]]
    assert all(later >= earlier - 60 for earlier, later in pairwise(tops))


def test_light_and_dark_follow_the_system_and_the_button(browser, pages):
    def lightness() -> int:
        colour = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
        return int(colour.strip("rgb()").split(",")[0])

    open_page(browser, pages["booster"], dark=True)
    assert lightness() < 60
    button = browser.find_element(By.ID, "theme")
    assert button.text == "Light"
    button.click()
    assert lightness() > 200
    assert button.text == "Dark"
    open_page(browser, pages["booster"])
    assert lightness() > 200


@pytest.mark.parametrize("name", ["booster", "hostile", "many"])
def test_nothing_sticks_out_on_a_phone(browser, pages, name):
    open_page(browser, pages[name], width=360)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 360


@pytest.mark.skipif(not AXE.is_file(), reason="axe-core is missing (npm install axe-core, or set AXE_CORE)")
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("name", ["booster", "hostile", "many"])
def test_axe_core_finds_no_serious_fault(browser, pages, name, dark):
    open_page(browser, pages[name], dark=dark)
    browser.execute_script(AXE.read_text(encoding="utf-8"))
    found = browser.execute_async_script("const done = arguments[0]; axe.run().then(r => done(r.violations));")
    faults = [(fault["id"], [node["html"][:120] for node in fault["nodes"][:3]]) for fault in found]
    assert faults == []
