#!/usr/bin/python3
"""The report page in headless Chromium: opened from disk without a network, clicked and read.

usage: report_page_test.py SAMPLE_REPORT   (the program that writes the pages)
Exit code 77, with the reason, where the browser or its driver is missing.
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

try:
    from selenium import webdriver
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.support.ui import WebDriverWait
except ImportError:
    print("skipped: python3-selenium is not installed")
    sys.exit(77)

KIND_COLORS = {"F": (86, 180, 233), "B": (230, 159, 0), "update": (166, 169, 173)}
ROW = 30  # pixels per actor with at most 12 of them


def start_browser():
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not chromium or not driver:
        print("skipped: chromium or chromium-driver is not installed")
        sys.exit(77)
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in ["--headless", "--no-sandbox", "--disable-gpu", "--force-device-scale-factor=1",
                 "--window-size=1440,1000", "--disable-background-networking", "--no-first-run",
                 "--host-resolver-rules=MAP * ~NOTFOUND"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(service=Service(driver), options=options)


def four_digits(value):
    size = abs(value)
    return f"{value:.{0 if size >= 1000 else 1 if size >= 100 else 2 if size >= 10 else 3}f}"


def show_time(nanoseconds):
    for unit, size in [("s", 1e9), ("ms", 1e6), ("µs", 1e3)]:
        if abs(nanoseconds) >= size:
            return f"{four_digits(nanoseconds / size)} {unit}"
    return f"{nanoseconds:.0f} ns"


def show_percent(ratio):
    return f"{100 * ratio:.1f} %"


def show_difference(percent):
    sign = "" if f"{abs(percent):.1f}" == "0.0" else "−" if percent < 0 else "+"
    return f"{sign}{abs(percent):.1f} %"


class Trace:
    """The rows of a trace file, by name."""

    def __init__(self, file):
        data = json.loads(file.read_text())["penstock"]
        self.actors = data["actors"]
        self.transfers = data["transfers"]
        self.spans = [dict(zip(["label", "actor", "start", "end", "awaits"], row)) for row in data["spans"]]
        for before, span in zip([None] + self.spans, self.spans):
            first = before is None or before["actor"] != span["actor"]
            span["free"] = 0 if first else before["end"]
            span["kind"] = span["label"].split()[0] if " " in span["label"] else "".join(
                c for c in span["label"] if c in "FBIW")

    def find(self, label):
        return next(span for span in self.spans if span["label"] == label)

    def awaited(self, span):
        producer, kind, source = self.transfers[span["awaits"]][:3]
        return f"{kind} {producer} from actor {source}"


class ReportPage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = start_browser()
        cls.addClassCleanup(cls.browser.quit)
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        subprocess.run([SAMPLE_REPORT, cls.folder], check=True)
        cls.traces = [Trace(cls.folder / f"{name}.trace.json") for name in ["predicted", "measured"]]

    def setUp(self):
        self.open("report.html")

    def tearDown(self):
        severe = [entry["message"] for entry in self.browser.get_log("browser") if entry["level"] == "SEVERE"]
        self.assertEqual(severe, [])

    def open(self, name, width=1440, dark=False):
        scheme = "dark" if dark else "light"
        self.browser.execute_cdp_cmd(
            "Emulation.setEmulatedMedia",
            {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
        self.browser.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": False})
        self.browser.get("about:blank")
        self.browser.get(f"file://{self.folder / name}")
        WebDriverWait(self.browser, 20).until(
            lambda b: b.execute_script("return document.documentElement.dataset.ready === 'true'"))

    def js(self, code, *arguments):
        return self.browser.execute_script(code, *arguments)

    def lanes(self, timeline=0):
        canvas = self.browser.find_elements(By.CSS_SELECTOR, ".lanes")[timeline]
        self.js("arguments[0].scrollIntoView({block: 'center'})", canvas)
        return canvas

    def range(self, canvas):
        return int(canvas.get_attribute("data-from")), int(canvas.get_attribute("data-to"))

    def position(self, canvas, span):
        """Where the page should have drawn the middle of a span."""
        first, last = self.range(canvas)
        width = self.js("return arguments[0].clientWidth", canvas)
        middle = ((span["start"] + span["end"]) / 2 - first) / (last - first) * width
        return middle, span["actor"] * ROW + ROW / 2 - 1

    def move_to(self, canvas, x, y, click=False):
        width, height = self.js("return [arguments[0].clientWidth, arguments[0].clientHeight]", canvas)
        # selenium counts from the middle of the element
        chain = ActionChains(self.browser).move_to_element_with_offset(
            canvas, round(x - width // 2), round(y - height // 2))
        (chain.click() if click else chain).perform()

    def tip(self):
        return self.browser.find_element(By.CSS_SELECTOR, ".tip").text

    def check_tip(self, trace, span):
        text = self.tip()
        self.assertTrue(text.startswith(span["label"] + " "), text)
        self.assertIn(f"{show_time(span['start'])} to {show_time(span['end'])}, "
                      f"took {show_time(span['end'] - span['start'])}", text)
        waited = span["start"] - span["free"]
        if waited > 0:
            self.assertIn(f"waited {show_time(waited)}", text)
            self.assertIn(f"for {trace.awaited(span)}", text)
        else:
            self.assertIn("no wait", text)

    def click_button(self, label):
        self.browser.find_element(By.CSS_SELECTOR, f"button[aria-label='{label}']").click()

    # What is drawn.

    def test_opens_without_any_request(self):
        self.browser.get_log("performance")
        self.open("report.html")
        events = [json.loads(entry["message"])["message"] for entry in self.browser.get_log("performance")]
        urls = {event["params"]["request"]["url"] for event in events
                if event["method"] == "Network.requestWillBeSent"}
        self.assertTrue(any(url.startswith("file://") for url in urls))
        self.assertEqual({url for url in urls if not url.startswith(("file://", "data:", "about:"))}, set())

    def test_a_row_per_actor_of_each_timeline(self):
        canvases = self.browser.find_elements(By.CSS_SELECTOR, ".lanes")
        self.assertEqual(len(canvases), 2)
        for canvas, trace in zip(canvases, self.traces):
            self.assertEqual(canvas.get_attribute("data-rows"), str(trace.actors))
            self.assertEqual(self.js("return arguments[0].clientHeight", canvas), ROW * trace.actors)
        labels = [row.text for row in self.browser.find_elements(By.CSS_SELECTOR, ".actors .row")]
        self.assertEqual(labels, ["actor 0", "actor 1", "actor 2", "actor 3"] * 2)

    def test_every_op_is_drawn_in_its_place_and_colour(self):
        for number, trace in enumerate(self.traces):
            canvas = self.lanes(number)
            for span in trace.spans:
                x, y = self.position(canvas, span)
                above_text = y - ROW / 2 + 4
                pixel = self.js(
                    "return [...arguments[0].getContext('2d').getImageData(arguments[1], arguments[2], 1, 1).data]",
                    canvas, round(x), round(above_text))
                self.assertEqual(tuple(pixel[:3]), KIND_COLORS[span["kind"]], span)

    def test_the_legend_names_the_kinds_that_ran(self):
        self.open("kinds.html")
        names = [item.text for item in self.browser.find_elements(By.CSS_SELECTOR, ".legend li")]
        self.assertEqual(names, ["F forward", "I backward, input gradient", "W backward, weight gradient",
                                 "gradient reduction", "global norm", "update"])

    # Pointer and keys.

    def test_hover_tells_op_times_and_what_it_waited_for(self):
        for number, trace in enumerate(self.traces):
            canvas = self.lanes(number)
            for label in ["0F0", "3F2", "1B3", "0B7", "2F4", "update 2"]:
                span = trace.find(label)
                self.move_to(canvas, *self.position(canvas, span))
                self.check_tip(trace, span)

    def test_hover_tells_why_an_actor_idles(self):
        canvas = self.lanes()
        self.move_to(canvas, 2, 3 * ROW + 10)
        self.assertIn("idle: warm-up", self.tip())
        self.assertIn("before 3F0", self.tip())

    def test_buttons_zoom_all_timelines(self):
        canvas, other = self.lanes(0), self.lanes(1)
        first, last = self.range(canvas)
        self.click_button("Zoom in")
        zoomed = self.range(canvas)
        self.assertAlmostEqual((zoomed[1] - zoomed[0]) * 1.6, last - first, delta=5)
        self.assertEqual(self.range(other), zoomed)
        canvas, span = self.lanes(0), self.traces[0].find("1B3")
        self.move_to(canvas, *self.position(canvas, span))
        self.check_tip(self.traces[0], span)
        self.click_button("Zoom out")
        self.assertEqual(self.range(canvas), (first, last))
        self.click_button("Zoom in")
        self.click_button("Show the whole step")
        self.assertEqual(self.range(canvas), (first, last))

    def test_click_pins_and_escape_unpins(self):
        canvas, trace = self.lanes(), self.traces[0]
        span = trace.find("2B2")
        self.move_to(canvas, *self.position(canvas, span), click=True)
        self.move_to(canvas, *self.position(canvas, trace.find("0F0")))
        self.check_tip(trace, span)
        canvas.send_keys(Keys.ESCAPE)
        self.assertNotIn("2B2", self.tip())

    def test_wheel_zooms_after_a_click_and_drag_pans(self):
        canvas, trace = self.lanes(), self.traces[0]
        x, y = self.position(canvas, trace.find("2B2"))
        first, last = self.range(canvas)
        wheel = ("arguments[0].dispatchEvent(new WheelEvent('wheel', {deltaY: -300, bubbles: true, cancelable: true,"
                 "clientX: arguments[0].getBoundingClientRect().left + arguments[1], clientY: 0}))")
        self.js(wheel, canvas, x)
        self.assertEqual(self.range(canvas), (first, last))  # the page scrolls instead
        self.move_to(canvas, x, y, click=True)
        self.js(wheel, canvas, x)
        zoomed = self.range(canvas)
        self.assertLess(zoomed[1] - zoomed[0], (last - first) * 0.7)
        middle = sum(trace.find("2B2")[edge] for edge in ["start", "end"]) / 2
        self.assertTrue(zoomed[0] < middle < zoomed[1])
        ActionChains(self.browser).click_and_hold().move_by_offset(-60, 0).release().perform()
        panned = self.range(canvas)
        self.assertGreater(panned[0], zoomed[0])
        self.assertAlmostEqual(panned[1] - panned[0], zoomed[1] - zoomed[0], delta=2)

    def test_keys_walk_zoom_and_fit(self):
        canvas = self.lanes()
        whole = self.range(canvas)
        canvas.send_keys(Keys.ARROW_RIGHT)
        self.assertTrue(self.tip().startswith("0F0 "), self.tip())
        canvas.send_keys(Keys.ARROW_RIGHT)
        self.assertTrue(self.tip().startswith("0F1 "), self.tip())
        canvas.send_keys(Keys.ARROW_DOWN)
        self.assertTrue(self.tip().startswith("1F0 "), self.tip())
        canvas.send_keys("+")
        self.assertLess(self.range(canvas)[1] - self.range(canvas)[0], whole[1] - whole[0])
        closest = [canvas.send_keys("+" * 40) or self.range(canvas) for _ in range(2)]
        self.assertEqual(*closest)  # at its shortest the range stays where it is
        canvas.send_keys("0")
        self.assertEqual(self.range(canvas), whole)

    def test_critical_path_dims_the_rest(self):
        canvas = self.lanes()
        picture = "return arguments[0].toDataURL()"
        before = self.js(picture, canvas)
        button = self.browser.find_element(By.XPATH, "//button[text()='Critical path']")
        button.click()
        self.assertEqual(button.get_attribute("aria-pressed"), "true")
        self.assertNotEqual(self.js(picture, canvas), before)
        button.click()
        self.assertEqual(self.js(picture, canvas), before)

    # The numbers.

    def read(self, name):
        return json.loads((self.folder / name).read_text())

    def test_tiles_equal_the_json(self):
        measured, comparison = self.read("measured.json"), self.read("comparison.json")
        shown = {tile.get_attribute("data-tile"): tile.text
                 for tile in self.browser.find_elements(By.CSS_SELECTOR, "[data-tile]")}
        self.assertEqual(shown, {
            "Step": show_time(measured["makespan_s"] * 1e9),
            "Utilization": show_percent(measured["utilization"]),
            "Bubble": show_percent(measured["bubble_ratio"]),
            "Tokens per second": f"{measured['tokens_per_s']:,.0f}",
            "Prediction error": show_difference(comparison["error_percent"]),
        })

    def table(self, selector):
        return [[cell.text for cell in row.find_elements(By.CSS_SELECTOR, "td")]
                for row in self.browser.find_elements(By.CSS_SELECTOR, f"{selector} tbody tr")]

    def test_actor_tables_equal_the_json(self):
        rows = self.table("details")
        expected = []
        for name in ["predicted.json", "measured.json"]:
            report = self.read(name)
            for actor in report["actors"]:
                idle = [ns for ns in actor["idle"]
                        if any(other["idle"][ns] > 0 for other in report["actors"])]
                times = [f"{1e3 * actor['idle'][ns]:.2f}" if actor["idle"][ns] > 0 else "0" for ns in idle]
                expected.append([str(actor["actor"]), f"{1e3 * actor['busy_s']:.2f}",
                                 show_percent(actor["utilization"]), f"{actor['peak_in_flight']:g}",
                                 f"{actor['peak_bytes'] / 2**20:.1f} MiB"] + times)
        self.assertEqual(rows, expected)

    def test_comparison_equals_the_json(self):
        comparison = self.read("comparison.json")
        rows = {row[0]: row[1:] for row in self.table(".charts > .panel:first-child > .table")}
        for kind in comparison["kinds"]:
            mean = kind["mean_s"]
            self.assertEqual(rows[f"mean {kind['kind']}"],
                             [show_time(mean["a"] * 1e9), show_time(mean["b"] * 1e9),
                              show_difference(mean["difference_percent"])])
        for name, key in [("utilization", "utilization"), ("bubble", "bubble_ratio")]:
            both = comparison[key]
            points = f"{100 * (both['b'] - both['a']):+.1f} points".replace("-", "−")
            self.assertEqual(rows[name], [show_percent(both["a"]), show_percent(both["b"]), points])
        for row in ["actor 3 idle", "stage 3 mean F", "tokens/s"]:
            self.assertIn(row, rows)
        self.assertEqual(rows["step"][2], show_difference(comparison["error_percent"]))

    def test_charts_hold_the_numbers(self):
        charts = self.js("return [...document.querySelectorAll('.chart canvas')].map((canvas) => {"
                         "const chart = Chart.getChart(canvas);"
                         "return {type: chart.config.type, data: chart.data.datasets.map((d) => d.data)}})")
        self.assertEqual([chart["type"] for chart in charts], ["bar", "bar", "bar", "line", "line", "line"])
        parts = charts[1]["data"]
        for actor in range(4):
            self.assertAlmostEqual(sum(part[actor] for part in parts), 100, places=6)
        self.assertEqual(len(charts[-1]["data"][0]), 50)

    def test_schedules_are_compared_over_sizes(self):
        self.open("trials.html")
        page = self.browser.find_element(By.TAG_NAME, "main")
        self.assertIn("many overtakes few at 16 microbatches", page.text)
        curves = self.js("return Chart.getChart(document.querySelector('.chart canvas')).data.datasets"
                         ".map((d) => [d.label, d.data.map((point) => point.x)])")
        self.assertEqual(curves, [["few", [4, 8, 16]], ["many", [8, 16]]])
        ticks = self.js("return Chart.getChart(document.querySelector('.chart canvas')).scales.x.ticks"
                        ".map((tick) => tick.value)")
        self.assertTrue(ticks and set(ticks) <= {4, 8, 16}, ticks)
        self.browser.find_element(By.TAG_NAME, "summary").click()
        rows = [row.text.split() for row in page.find_elements(By.CSS_SELECTOR, "tbody tr")]
        self.assertEqual(len(rows), 6)
        self.assertEqual(rows[0][:3], ["4", "few", "21.00"])

    # Looks and safety.

    def test_dark_mode_differs_and_is_readable(self):
        colors = []
        for dark in [False, True]:
            self.open("report.html", dark=dark)
            colors.append(self.js("const s = getComputedStyle(document.body); return [s.backgroundColor, s.color]"))
        light, dark = [[sum(map(int, color[4:-1].split(","))) for color in pair] for pair in colors]
        self.assertGreater(light[0] - light[1], 500)
        self.assertGreater(dark[1] - dark[0], 500)

    def test_fits_narrow_and_wide_windows(self):
        for width in [400, 1600]:
            for name in ["report.html", "large.html", "kinds.html", "trials.html", "hostile.html"]:
                self.open(name, width=width)
                self.assertLessEqual(self.js("return document.documentElement.scrollWidth"), width, name)

    def test_names_are_text_and_never_markup(self):
        self.open("hostile.html")
        heading = self.browser.find_element(By.TAG_NAME, "h1").text
        self.assertTrue(heading.startswith("</script><script>document.title='broken'</script><img"), heading)
        self.assertIn("@SCRIPT@", heading)
        self.assertNotEqual(self.browser.title, "broken")
        self.assertEqual(self.js("return [document.images.length, document.scripts.length]"), [0, 3])

    def test_a_large_report_is_a_summary(self):
        self.assertLess((self.folder / "large.html").stat().st_size, 2_000_000)
        self.open("large.html")
        self.assertIn("ui.perfetto.dev", self.browser.find_element(By.CSS_SELECTOR, ".timeline").text)
        canvas = self.lanes()
        blue = self.js("const d = arguments[0].getContext('2d').getImageData(0, 2, arguments[0].width, 1).data;"
                       "let n = 0; for (let i = 0; i < d.length; i += 4) n += d[i] < 60 && d[i + 2] > 150; return n",
                       canvas)
        self.assertGreater(blue, 200)
        self.click_button("Zoom in")


def main():
    global SAMPLE_REPORT
    SAMPLE_REPORT = sys.argv[1]
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(ReportPage)
    result = unittest.TextTestRunner(verbosity=2).run(suite)
    failed = len({str(test) for test, _ in result.failures + result.errors})  # a test may fail twice
    print(f"{result.testsRun - failed} passed, {failed} failed")
    sys.exit(0 if result.wasSuccessful() else 1)


if __name__ == "__main__":
    main()
