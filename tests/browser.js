// Opens pages in a real Chromium and says what it saw: axe, requests, width, dialogs, what injected markup left, pictures, prints.
// stdin: {"page": FILE, "looks": [{"scheme", "width", "height", "media", "shot"}], "pdf": FILE, "validate": true}; stdout: one JSON.
const fs = require("fs");
const { pathToFileURL } = require("url");

async function look(browser, page, wish) {
  const tab = await browser.newPage();
  const seen = { requests: [], dialogs: [], errors: [] };
  const url = pathToFileURL(page).href;
  tab.on("request", (request) => request.url() !== url && !request.url().startsWith("data:") && seen.requests.push(request.url().slice(0, 200)));
  tab.on("dialog", (dialog) => { seen.dialogs.push(dialog.message()); dialog.dismiss(); });
  tab.on("pageerror", (error) => seen.errors.push(String(error)));
  tab.on("console", (line) => seen.errors.push(line.text().slice(0, 300)));
  await tab.setViewport({ width: wish.width || 1280, height: wish.height || 900 });
  await tab.emulateMediaFeatures([{ name: "prefers-color-scheme", value: wish.scheme || "light" }]);
  // after the scheme, which puts the medium back
  if (wish.media) await tab.emulateMediaType(wish.media);
  await tab.goto(url, { waitUntil: "load" });
  if (wish.click) await tab.click(wish.click);
  if (wish.away) {
    await tab.goto("about:blank");
    await tab.goBack({ waitUntil: "load" });
  }
  const inner = await tab.evaluate(() => {
    const wide = (each) => each.scrollWidth > each.clientWidth + 1;
    const ids = new Set([...document.querySelectorAll("[id]")].map((each) => each.id));
    const named = [...document.querySelectorAll("[aria-labelledby],[aria-describedby]")];
    const words = named.flatMap((each) => [each.getAttribute("aria-labelledby"), each.getAttribute("aria-describedby")]);
    const links = [...document.querySelectorAll("a[href^='#']")].map((each) => each.getAttribute("href").slice(1));
    const dangling = [...words.filter(Boolean).flatMap((each) => each.split(/\s+/)), ...links].filter((id) => id && !ids.has(id));
    const focusable = (each) => each.tabIndex >= 0;
    return {
      title: document.title,
      width: innerWidth,
      scroll_width: document.documentElement.scrollWidth,
      height: document.documentElement.scrollHeight,
      scripts: document.querySelectorAll("script,iframe,object,embed,img:not([src^='data:']),link[href],[onerror],[onload]").length,
      dangling,
      unreachable: [...document.querySelectorAll(".scroll")].filter((each) => wide(each) && !focusable(each)).length,
      checked: [...document.querySelectorAll("input:checked")].map((each) => each.id || each.name),
      text: document.body.innerText,
    };
  });
  if (wish.axe) {
    await tab.evaluate(fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8"));
    const runOnly = ["wcag2a", "wcag2aa", "wcag21aa", "best-practice"];
    const found = await tab.evaluate((runOnly) => window.axe.run(document, { runOnly }), runOnly);
    seen.passes = found.passes.length;
    seen.violations = found.violations.flatMap((rule) => rule.nodes.map((node) => `${rule.id}: ${node.target} ${node.failureSummary}`));
    seen.incomplete = found.incomplete.map((rule) => `${rule.id}: ${rule.nodes.length}`);
  }
  if (wish.shot) await tab.screenshot({ path: wish.shot, fullPage: !wish.clip, clip: wish.clip });
  await tab.close();
  return { ...seen, ...inner };
}

async function validated(page) {
  const { HtmlValidate, FileSystemConfigLoader } = require("html-validate");
  const loader = new FileSystemConfigLoader({ extends: ["html-validate:recommended"] });
  const report = await new HtmlValidate(loader).validateString(fs.readFileSync(page, "utf8"), page);
  return report.results.flatMap((each) => each.messages.map((one) => `${one.line}:${one.column} ${one.ruleId} ${one.message}`));
}

(async () => {
  const wish = JSON.parse(fs.readFileSync(0, "utf8"));
  const result = { looks: [] };
  if (wish.validate) result.validate = await validated(wish.page);
  if ((wish.looks || []).length || wish.pdf) {
    const puppeteer = require("puppeteer-core");
    const args = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"];
    const browser = await puppeteer.launch({ executablePath: process.env.ADVISOR_BROWSER, args, headless: true });
    try {
      for (const each of wish.looks || []) result.looks.push(await look(browser, wish.page, each));
      if (wish.pdf) {
        const tab = await browser.newPage();
        await tab.goto(pathToFileURL(wish.page).href, { waitUntil: "load" });
        await tab.pdf({ path: wish.pdf, format: "A4", preferCSSPageSize: true });
      }
    } finally {
      await browser.close();
    }
  }
  process.stdout.write(JSON.stringify(result));
})().catch((error) => { process.stderr.write(String(error && error.stack) + "\n"); process.exit(1); });
