package web_test

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spillway-media/spillway/internal/browser"
	"github.com/spillway-media/spillway/internal/browser/browsertest"
)

var (
	desktop = browser.Screen{Width: 1440, Height: 900}
	phone   = browser.Screen{Width: 390, Height: 844, Scale: 2, Phone: true}
)

// shown holds when the picture on the page is the answer to the URL beside it.
const shown = `(() => {
	const img = document.getElementById("result");
	const url = document.getElementById("snippet").textContent;
	return !img.hidden && !document.getElementById("sheet").hidden && img.naturalWidth > 0 &&
		(url === location.origin + img.dataset.of || url.includes("'" + location.origin + img.dataset.of + "'"));
})()`

const snippet = `document.getElementById("snippet").textContent`

// set moves a control as its user would: by its value and an input event.
func (p *page) set(selector, value string) {
	p.t.Helper()
	p.eval(`(() => {
		const el = document.querySelector(`+quote(selector)+`);
		el.value = `+quote(value)+`;
		el.dispatchEvent(new Event("input", { bubbles: true }));
	})()`, nil)
}

// size waits until the picture is of a size.
func (p *page) size(condition string) {
	p.t.Helper()
	p.wait(`(() => { const { naturalWidth: w, naturalHeight: h } = document.getElementById("result"); return ` + condition + ` })() && ` + shown)
}

// quiet fails when the page complained; call it at the end of each case.
func (p *page) quiet() {
	p.t.Helper()
	for _, c := range p.Complaints() {
		p.t.Errorf("the console says: %s", c)
	}
}

func TestPlayground(t *testing.T) {
	base := startProgram(t)
	b := browsertest.Start(t, browser.Options{})
	for _, c := range []struct {
		name string
		on   browser.Screen
		run  func(t *testing.T, p *page, base string)
	}{
		{"a first visit shows a picture, its cost and its URL", desktop, firstVisit},
		{"each control changes the URL and the picture", desktop, controlsAct},
		{"a format that cannot be written is not offered", desktop, formatsOffered},
		{"a click on the whole picture sets a focal point", desktop, focalPoint},
		{"the comparison lays the original over the result", desktop, comparison},
		{"a fault is told in words", desktop, faultTold},
		{"snippets are copied as they stand", desktop, snippetsCopied},
		{"the location holds the state", desktop, stateShared},
		{"a newer wish aborts the older one", desktop, olderAborted},
		{"all is reached by keyboard, with the focus seen", desktop, keyboardReaches},
		{"dark follows the system", browser.Screen{Width: 1440, Height: 900, Dark: true}, darkFollows},
		{"a phone scrolls one way only and reaches every control", phone, phoneFits},
		{"text has contrast enough in light and dark", desktop, contrastHolds},
		{"forced colours show what is chosen", browser.Screen{Width: 1440, Height: 900, Forced: true}, forcedColours},
		{"motion stops when less is asked for", browser.Screen{Width: 1440, Height: 900, Still: true}, motionStops},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := open(t, b, c.on)
			c.run(t, p, base)
			p.quiet()
		})
	}
}

func firstVisit(t *testing.T, p *page, base string) {
	p.visit(base + "/")
	p.size("w === 640 && h > 400")
	p.wait(`document.querySelectorAll("#strip img").length >= 10 && [...document.querySelectorAll("#strip img")].every((i) => i.naturalWidth > 0)`)
	if got := p.text(snippet); got != base+"/assets/mountain-lake.jpg?sizes=640x0" {
		t.Errorf("the URL is %q", got)
	}
	for id, want := range map[string]string{"bytes": "kB", "ratio": "% of", "total": "ms", "dims": "640 × 427", "source": "2400 × 1600"} {
		p.wait(`document.getElementById("` + id + `").textContent.includes(` + quote(want) + `)`)
	}
	if p.truth(`[...document.querySelectorAll("#key b")].some((b) => b.textContent === "")`) {
		t.Error("a stage of the time is not told")
	}
}

func controlsAct(t *testing.T, p *page, base string) {
	p.visit(base + "/#key=red-sail.jpg&w=300")
	p.size("w === 300 && h === 429")
	for _, c := range []struct {
		name, selector, value, part, size string
	}{
		{"width by slider", `[data-for="w"]`, "400", "sizes=400x0", "w === 400"},
		{"height by number", `#h`, "200", "sizes=400x200", "h === 200 && w === 140"},
		{"pixel ratio", `#dpr`, "2", "dpr=2", "h === 400 && w === 280"},
		{"quality", `#quality`, "35", "quality=35", "h === 400"},
		{"effort", `#effort`, "2", "effort=2", "h === 400"},
		{"bytes", `#max_kb`, "9", "max_bytes=9000", "h === 400"},
		{"blur", `[data-for="blur"]`, "3.5", "blur=3.5", "h === 400"},
		{"sharpen", `#sharpen`, "1.2", "sharpen=1.2", "h === 400"},
		{"trim", `#trim`, "10", "trim=10", "h <= 400"},
		{"background", `[name="background"]`, "#336699", "background=336699", "h <= 400"},
	} {
		t.Log(c.name)
		p.set(c.selector, c.value)
		p.wait(snippet + `.includes(` + quote(c.part) + `)`)
		p.size(c.size)
	}
	for _, c := range []struct{ selector, part, size string }{
		{`[name="fit"][value="cover"]`, "fit=cover", "w === 800 && h === 400"},
		{`[name="gravity"][value="attention"]`, "gravity=attention", "w === 800"},
		{`[name="format"][value="jpeg"]`, "format=jpeg", "w === 800"},
		{`[name="rotate"][value="90"]`, "rotate=90", "w === 800"},
		{`[name="grayscale"]`, "grayscale=true", "w === 800"},
		{`[name="flip"]`, "flip=true", "w === 800"},
		{`[name="flop"]`, "flop=true", "w === 800"},
		{`[name="progressive"]`, "progressive=true", "w === 800"},
		{`[name="enlarge"]`, "enlarge=true", "w === 800"},
	} {
		t.Log(c.part)
		p.click(c.selector)
		p.wait(snippet + `.includes(` + quote(c.part) + `)`)
		p.size(c.size)
	}
	p.wait(`document.getElementById("format-name").textContent === "JPEG"`)
	p.click("#reset")
	p.wait(snippet + ` === ` + quote(base+"/assets/red-sail.jpg?sizes=640x0"))
}

func formatsOffered(t *testing.T, p *page, base string) {
	p.visit(base + "/")
	var formats []struct {
		Format    string
		Available bool
	}
	p.eval(`fetch("/demo.json").then((r) => r.json()).then((l) => l.formats)`, &formats)
	written := 0
	for _, f := range formats {
		if p.truth(`document.querySelector('[name="format"][value="`+f.Format+`"]').disabled`) == f.Available {
			t.Errorf("%s: available is %v, but the control says otherwise", f.Format, f.Available)
		}
		if f.Available {
			written++
		}
	}
	if written < 4 {
		t.Errorf("only %d formats can be written: %v", written, formats)
	}
}

func focalPoint(t *testing.T, p *page, base string) {
	p.visit(base + "/#key=red-sail.jpg&w=300")
	p.wait(`document.getElementById("finder-img").naturalWidth > 0`)
	p.clickAt("#finder-img", .75, .5)
	p.wait(snippet + `.includes("gravity=0.75,0.50")`)
	p.size("w === 300 && h === 300")
	if !p.truth(`!document.getElementById("kept").hidden && !document.getElementById("cross").hidden`) {
		t.Error("the point and the kept part are not drawn")
	}
	p.eval(`document.getElementById("finder").focus()`, nil)
	p.press("ArrowLeft", false)
	p.press("ArrowDown", true)
	p.wait(snippet + `.includes("gravity=0.73,0.60")`)
	p.size("w === 300 && h === 300")
}

func comparison(t *testing.T, p *page, base string) {
	p.visit(base + "/#key=mountain-lake.jpg&w=400&quality=10&format=jpeg")
	p.size("w === 400")
	p.click(`[name="view"][value="compare"]`)
	p.wait(`!document.getElementById("before").hidden && document.getElementById("reference").naturalWidth === 400`)
	before := p.text(`document.getElementById("before").style.clipPath`)
	p.eval(`document.getElementById("wipe").focus()`, nil)
	p.press("Home", false)
	p.wait(`document.getElementById("before").style.clipPath !== ` + quote(before))
	p.click(`[name="view"][value="result"]`)
	p.wait(`document.getElementById("before").hidden`)
}

func faultTold(t *testing.T, p *page, base string) {
	p.visit(base + "/#key=no/such.jpg")
	p.wait(`!document.getElementById("problem").hidden && document.getElementById("problem-status").textContent === "404"`)
	p.set("#own-key", "mountain-lake.jpg")
	p.eval(`document.getElementById("own-key").focus()`, nil)
	p.press("Enter", false)
	p.size("w === 640")
	p.set("#quality", "101")
	p.wait(`document.getElementById("problem-status").textContent === "400" && document.getElementById("problem-code").textContent.includes("quality")`)
	if got := p.text(`document.getElementById("problem-detail").textContent`); !strings.Contains(got, "101") || !strings.Contains(got, "100") {
		t.Errorf("the detail is %q, which does not name the value and the range", got)
	}
	p.set("#quality", "50")
	p.wait(`document.getElementById("problem").hidden`)
	p.Complaints() // the browser itself logs every answer of 400 and above
}

func snippetsCopied(t *testing.T, p *page, base string) {
	p.visit(base + "/#key=balloon.png&w=320")
	p.size("w === 320")
	for _, c := range []struct{ kind, want string }{
		{"url", base + "/assets/balloon.png?sizes=320x0"}, {"curl", "curl -o balloon."}, {"html", "<img"},
	} {
		p.click(`[name="snippet"][value="` + c.kind + `"]`)
		p.wait(snippet + `.startsWith(` + quote(c.want) + `)`)
		p.eval(`navigator.clipboard.writeText = async (text) => { window.written = text }; null`, nil)
		p.click("#copy")
		p.wait(`window.written === ` + snippet)
		p.wait(`document.getElementById("copy").textContent === "Copied"`)
	}
	// Over plain http to another host the clipboard interface is missing.
	p.eval(`Object.defineProperty(navigator, "clipboard", { value: undefined });
		document.addEventListener("copy", () => { window.old = document.activeElement.value }); null`, nil)
	p.click("#copy")
	p.wait(`window.old === ` + snippet)
	p.click(`[name="snippet"][value="html"]`)
	p.wait(snippet + `.startsWith("<img")`)
	var urls []string
	p.eval(`(() => {
		const img = new DOMParser().parseFromString(`+snippet+`, "text/html").querySelector("img");
		return [img.getAttribute("src"), ...img.getAttribute("srcset").split(",\n").map((s) => s.trim().split(" ")[0])];
	})()`, &urls)
	if len(urls) != 5 {
		t.Fatalf("the img tag has %d URLs, want src and four widths: %q", len(urls), urls)
	}
	for _, u := range urls {
		var status int
		p.eval(`fetch(`+quote(u)+`).then((r) => r.status)`, &status)
		if status != 200 {
			t.Errorf("%s answers %d", u, status)
		}
	}
}

func stateShared(t *testing.T, p *page, base string) {
	p.visit(base + "/#key=riverbed.jpg&w=240&h=240&fit=cover&gravity=focal&fx=0.2&fy=0.8&format=png&flip=1&zoom=fit")
	p.size("w === 240 && h === 240")
	want := base + "/assets/riverbed.jpg?sizes=240x240&fit=cover&gravity=0.20,0.80&flip=true&format=png"
	if got := p.text(snippet); got != want {
		t.Errorf("the URL is\n%s, want\n%s", got, want)
	}
	hash := p.text("location.hash")
	p.visit(base + "/?again" + hash)
	p.size("w === 240 && h === 240")
	if got := p.text(snippet); got != want {
		t.Errorf("after a reload the URL is\n%s, want\n%s", got, want)
	}
}

func olderAborted(t *testing.T, p *page, base string) {
	p.visit(base + "/#key=mountain-lake.jpg&w=200")
	p.size("w === 200")
	p.eval(`(() => {
		window.aborted = 0;
		const plain = window.fetch;
		window.fetch = (url, options) => {
			options?.signal?.addEventListener("abort", () => { window.aborted++ });
			return plain(url, options);
		};
	})()`, nil)
	p.click(`[name="format"][value="avif"]`)
	p.click(`[name="format"][value="webp"]`)
	p.click(`[name="format"][value="png"]`)
	p.size("w === 200")
	p.wait(`document.getElementById("format-name").textContent === "PNG"`)
	var aborted int
	p.eval("window.aborted", &aborted)
	if aborted < 2 {
		t.Errorf("%d of 2 older requests were aborted", aborted)
	}
}

// keyboardReaches walks by Tab through the whole page and sees that every
// control was met once around, each with a focus that can be seen.
func keyboardReaches(t *testing.T, p *page, base string) {
	p.visit(base + "/#key=mountain-lake.jpg&view=compare")
	p.size("w === 640")
	p.wait(`!document.getElementById("wipe").hidden`)
	p.eval(`window.met = new Set(); window.unseen = new Set(); null`, nil)
	for range 70 {
		p.press("Tab", false)
		p.eval(`(() => {
			const el = document.activeElement;
			if (!el || el === document.body) return;
			const name = el.type === "radio" ? "radio " + el.name : (el.id || el.dataset.for || el.name || el.className);
			met.add(name);
			// The ring is on the control or on what is drawn in its place.
			const marks = [el, el.nextElementSibling, el.parentElement?.querySelector(".seam span"), el.parentElement?.querySelector("img")];
			const seen = (m) => { const s = getComputedStyle(m); return s.opacity !== "0" && s.outlineStyle !== "none" && parseFloat(s.outlineWidth) >= 2 };
			if (!marks.some((m) => m && seen(m))) unseen.add(name);
		})()`, nil)
	}
	var met, unseen []string
	p.eval("[...met]", &met)
	p.eval("[...unseen]", &unseen)
	all := " " + strings.Join(met, " , ") + " "
	for _, want := range []string{
		"own-key", "reset", "radio picture", " w ", " h ", "radio fit", "dpr", "enlarge", "finder", "radio gravity", "radio format",
		"quality", "effort", "max_kb", "lossless", "progressive", "radio rotate", "flip", "flop", "grayscale", "blur", "sharpen",
		"trim", "ground", "background", "radio view", "radio zoom", "canvas", "wipe", "radio snippet", "snippet", "copy",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("Tab never reaches %s; it met%s", want, all)
		}
	}
	if len(unseen) > 0 {
		t.Errorf("the focus cannot be seen on %q", unseen)
	}
	p.eval(`document.querySelector('[name="fit"]:checked').focus()`, nil)
	p.press("ArrowRight", false)
	p.wait(snippet + `.includes("fit=cover")`)
	if n := p.text(`[...document.querySelectorAll("input, button, [tabindex='0']")].filter((el) => !el.hidden && !(el.labels?.length && el.labels[0].textContent.trim()) && !el.getAttribute("aria-label") && !el.textContent.trim()).map((el) => el.outerHTML).join("\n")`); n != "" {
		t.Errorf("these have no name:\n%s", n)
	}
}

func darkFollows(t *testing.T, p *page, base string) {
	p.visit(base + "/")
	const brightness = `(() => { const [r, g, b] = getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(Number); return r + g + b })()`
	var dark, light int
	p.eval(brightness, &dark)
	p.show(desktop)
	p.eval(brightness, &light)
	if dark > 120 || light < 600 {
		t.Errorf("the page's brightness is %d in dark and %d in light, of 765", dark, light)
	}
}

func phoneFits(t *testing.T, p *page, base string) {
	p.visit(base + "/")
	p.size("w > 200 && w <= 390")
	for _, width := range []int{320, 390, 820, 901} {
		p.show(browser.Screen{Width: width, Height: 844, Phone: width < 901})
		if got := p.text(`document.documentElement.scrollWidth + " of " + innerWidth`); got != fmt.Sprintf("%d of %d", width, width) {
			t.Errorf("on a screen of %d the page is %s wide", width, got)
		}
	}
	p.show(phone)
	if wide := p.text(`[...document.querySelectorAll("main *")].filter((el) => { const b = el.getBoundingClientRect(); return b.width && b.right > innerWidth + 1 && !el.closest(".strip, .canvas, .unseen") }).map((el) => el.outerHTML.slice(0, 90)).join("\n")`); wide != "" {
		t.Errorf("these stand out to the right:\n%s", wide)
	}
	if small := p.text(`[...document.querySelectorAll(".dial input, .segments label, .check, .copy, .own button")].filter((el) => { const b = el.getBoundingClientRect(); return b.height > 0 && b.height < 32 }).map((el) => el.outerHTML.slice(0, 90)).join("\n")`); small != "" {
		t.Errorf("these are too low for a finger:\n%s", small)
	}
	p.eval(`document.querySelector('[name="blur"]').scrollIntoView()`, nil)
	p.wait(`document.getElementById("canvas").getBoundingClientRect().top === 0`)
	p.set(`[data-for="w"]`, "160")
	p.size("w === 160")
}

// contrastHolds computes WCAG contrast for every text on the page.
func contrastHolds(t *testing.T, p *page, base string) {
	p.visit(base + "/#key=mountain-lake.jpg")
	p.size("w === 640")
	for _, s := range []browser.Screen{desktop, {Width: 1440, Height: 900, Dark: true}} {
		p.show(s)
		low := p.text(`(() => {
			const parse = (c) => { const n = c.match(/[\d.]+/g).map(Number); return { rgb: n.slice(0, 3), a: n[3] ?? 1 } };
			const lum = (rgb) => { const [r, g, b] = rgb.map((v) => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4 }); return 0.2126 * r + 0.7152 * g + 0.0722 * b };
			const ground = (el) => { for (; el; el = el.parentElement) { const c = parse(getComputedStyle(el).backgroundColor); if (c.a === 1) return c.rgb } return [255, 255, 255] };
			const out = [];
			for (const el of document.querySelectorAll("body *")) {
				const own = [...el.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
				const box = el.getBoundingClientRect();
				if (!own || !box.width || el.closest(":has(> :disabled), .unseen, .tag, noscript, [hidden]")) continue;
				const [a, b] = [lum(parse(getComputedStyle(el).color).rgb), lum(ground(el))].sort((x, y) => y - x);
				const ratio = (a + 0.05) / (b + 0.05);
				if (ratio < 4.5) out.push(ratio.toFixed(2) + " " + el.outerHTML.slice(0, 80));
			}
			return out.join("\n");
		})()`)
		if low != "" {
			t.Errorf("dark %v: contrast below 4.5:\n%s", s.Dark, low)
		}
	}
}

// forcedColours: the system takes every background away that does not insist.
func forcedColours(t *testing.T, p *page, base string) {
	p.visit(base + "/#key=mountain-lake.jpg")
	p.size("w === 640")
	for name, pair := range map[string][2]string{
		"a segment":         {`[name="fit"]:checked + span`, `[name="fit"]:not(:checked) + span`},
		"a gravity":         {`[name="gravity"]:checked + span`, `[name="gravity"]:not(:checked) + span`},
		"a dot of its grid": {`.compass label:not(.wide) :not(:checked) + span|::after`, `.compass label:not(.wide) :not(:checked) + span`},
		"the gauge's level": {`.gauge i`, `.gauge|::before`},
		"the share of work": {`.phases .work`, `.phases`},
	} {
		if p.truth(`(([a, b]) => a === b)(` + quote(pair[0]+"\n"+pair[1]) + `.split("\n").map((s) => { const [q, part] = s.split("|"); return getComputedStyle(document.querySelector(q), part).backgroundColor }))`) {
			t.Errorf("%s looks like its ground", name)
		}
	}
	if p.truth(`getComputedStyle(document.querySelector(".strip :checked ~ img")).outlineStyle === "none"`) {
		t.Error("the chosen picture has no outline")
	}
}

func motionStops(t *testing.T, p *page, base string) {
	p.visit(base + "/")
	if moving := p.text(`[...document.querySelectorAll("*")].filter((el) => parseFloat(getComputedStyle(el).transitionDuration) > 0.01).map((el) => el.className).join(" ")`); moving != "" {
		t.Errorf("these still move: %s", moving)
	}
}

// TestOwnRoot is the playground over a folder of somebody's own.
func TestOwnRoot(t *testing.T) {
	root := t.TempDir()
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 90, 60))); err != nil {
		t.Fatal(err)
	}
	const odd = "été 50%/a b#1?&.png"
	for _, key := range []string{"plain.png", odd} {
		path := filepath.Join(root, filepath.FromSlash(key))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, picture.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	base := startProgram(t, "--source-root", root)
	p := open(t, browsertest.Start(t, browser.Options{}), desktop)

	p.visit(base + "/#w=60")
	p.wait(`document.querySelectorAll("#strip input").length === 2`)
	p.size("w === 60 && h === 40")
	p.click(`#strip label:last-child input`)
	p.size("w === 60 && h === 40")
	p.click(`#strip label:first-child input`)
	p.size("w === 60 && h === 40")
	if got := p.text(snippet); !strings.Contains(got, "/assets/plain.png") && !strings.Contains(got, "/assets/%C3%A9t%C3%A9%2050%25/a%20b%231%3F%26.png") {
		t.Errorf("the URL is %q", got)
	}
	p.quiet()

	p.set("#own-key", "https://pictures.example/a.jpg")
	p.eval(`document.getElementById("own").requestSubmit()`, nil)
	p.wait(`document.getElementById("problem-status").textContent === "403"`)
	if got := p.text(snippet); got != base+"/resize?image_url=https://pictures.example/a.jpg&sizes=60x0" {
		t.Errorf("the URL is %q", got)
	}
	p.Complaints()
}

func TestEmptyRoot(t *testing.T) {
	base := startProgram(t, "--source-root", t.TempDir())
	p := open(t, browsertest.Start(t, browser.Options{}), desktop)
	p.visit(base + "/")
	p.wait(`document.getElementById("problem-title").textContent === "No picture yet" && document.getElementById("strip").hidden`)
	p.quiet()
}
