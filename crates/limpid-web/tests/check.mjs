// What the tests that run in the browser share. What they find is posted to Node.

export const tell = (name, found) => fetch("/found", { method: "POST", body: JSON.stringify({ name, ...found }) });

const only = new RegExp(new URLSearchParams(location.search).get("only") ?? "");

export async function check(name, work) {
  if (!only.test(name)) return;
  const begin = performance.now();
  try {
    await tell(name, { value: await work(), seconds: (performance.now() - begin) / 1000 });
  } catch (error) {
    await tell(name, { error: `${error.name}: ${error.message}\n${error.stack}` });
  }
}

/** The files of the tests, by name. */
export async function files() {
  const names = await (await fetch("/files")).json();
  const read = async (name) => [name, new Uint8Array(await (await fetch("/files/" + name)).arrayBuffer())];
  return Object.fromEntries(await Promise.all(names.map(read)));
}
