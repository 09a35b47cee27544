// SPDX-License-Identifier: BSD-2-Clause
// browser.mjs - opens pages in Chromium for tests/pmem_page.py: a command a line on standard input, an answer a line.
//
//   browser.mjs CHROMIUM
import {createRequire} from "node:module";
import {readFileSync} from "node:fs";
import {createInterface} from "node:readline";
import {chromium} from "playwright-core";

const browser = await chromium.launch({executablePath: process.argv[2], args: ["--no-sandbox"]});
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
let page = null, heard = [];

// What the page must not do: complain, fail, or ask for anything but what serves it.
function listen(url) {
	const mine = asked => asked.split("#")[0] === url || (url.startsWith("http:") && new URL(asked).origin === new URL(url).origin);
	heard = [];
	page.on("console", message => heard.push(message.type() + ": " + message.text()));
	page.on("pageerror", error => heard.push("error: " + error.message));
	page.on("dialog", dialog => { heard.push("dialog: " + dialog.message()); dialog.dismiss(); });
	page.on("request", request => { if (!mine(request.url())) heard.push("request: " + request.url()); });
}

// plain: it is no page of a profile.
async function open({path, hash = "", plain = false, scheme = "light", width = 1280, height = 720}) {
	if (page)
		await page.context().close();
	page = await (await browser.newContext({viewport: {width, height}, colorScheme: scheme})).newPage();
	const url = path.startsWith("http:") ? path : "file://" + encodeURI(path);
	listen(url);
	await page.goto(url + hash);
	if (plain)
		return 0;
	await page.waitForFunction(() => document.body.dataset.readyMs || !document.getElementById("trouble").hidden);
	return page.evaluate(() => Number(document.body.dataset.readyMs));
}

// Until what was asked for is drawn: two frames.
const settle = () => page.evaluate(() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done))));

// Runs a script, and says how long it took until the page had drawn what follows from it, in milliseconds: [elapsed, CPU time of
// the page's thread].
async function time({script}) {
	const session = await page.context().newCDPSession(page);
	const used = async () => (await session.send("Performance.getMetrics")).metrics.find(m => m.name === "TaskDuration").value * 1000;
	await session.send("Performance.enable", {timeDomain: "threadTicks"});
	const before = await used(), elapsed = await drawn(script), cpu = await used() - before;
	await session.detach();
	return [elapsed, cpu];
}

const drawn = script => page.evaluate(code => new Promise(done => {
	const begin = performance.now();
	(0, globalThis.eval)(code);
	requestAnimationFrame(() => setTimeout(() => done(performance.now() - begin)));
}), script);

async function drag({selector, from, to, y}) {
	const box = await page.locator(selector).boundingBox();
	await page.mouse.move(box.x + from, box.y + y);
	await page.mouse.down();
	for (let i = 1; i <= 8; i++)
		await page.mouse.move(box.x + from + (to - from) * i / 8, box.y + y);
	await page.mouse.up();
}

// The path of what the page has the browser save when a key is pressed.
async function downloaded({key}) {
	const [download] = await Promise.all([page.waitForEvent("download"), page.keyboard.press(key)]);
	return download.path();
}

async function checked() {
	await page.evaluate(axe);
	const {violations} = await page.evaluate(() => globalThis.axe.run());
	return violations.map(v => v.id + ": " + v.nodes.map(n => n.target.join(" ") + ": " + n.failureSummary).join("; "));
}

// Until a script's value is true.  Asked from outside: a page's policy allows no script that polls.
async function wait({script}) {
	const end = Date.now() + 30000;
	while (!await page.evaluate(script).catch(() => false)) {
		if (Date.now() > end)
			throw new Error("it did not become true");
		await new Promise(done => setTimeout(done, 20));
	}
	return null;
}

const commands = {
	open,
	wait,
	eval: ({script}) => page.evaluate(script),
	key: ({key}) => page.keyboard.press(key),
	type: ({text}) => page.keyboard.type(text),
	click: ({selector}) => page.click(selector),
	fill: ({selector, text}) => page.fill(selector, text),
	focus: ({selector}) => page.focus(selector),
	at: ({selector, x, y}) => page.click(selector, {position: {x, y}}),
	over: ({selector, x, y}) => page.hover(selector, {position: {x, y}}),
	give: ({selector, path}) => page.setInputFiles(selector, path),
	download: downloaded,
	drag,
	time,
	axe: checked,
	heard: () => heard,
	shot: ({path, whole = false}) => page.screenshot({path, fullPage: whole}).then(() => null)
};

for await (const line of createInterface({input: process.stdin})) {
	const command = JSON.parse(line);
	let answer;
	try {
		answer = {value: await commands[command.do](command) ?? null};
		if (command.do !== "open" && command.do !== "heard" && command.do !== "time")
			await settle();
	} catch (error) {
		answer = {error: String(error)};
	}
	process.stdout.write(JSON.stringify(answer) + "\n");
}
await browser.close();
