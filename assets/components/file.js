// The view as a link to copy, and as a small file to save and to open again, chosen or dropped here.

const boxes = new WeakMap();

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".file-box");
  if (!boxes.has(root)) boxes.set(root, new FileBox(root));
  boxes.get(root).draw(data, setTriggerValue);
}

class FileBox {
  constructor(root) {
    this.root = root;
    this.acts = make("div", "acts", root);
    this.acts.setAttribute("role", "group");
    this.copies = this.button(() => this.copy());
    this.saves = this.button(() => this.save());
    this.opens = this.button(() => this.input.click());
    this.input = make("input", "", root);
    Object.assign(this.input, { type: "file", accept: ".json,application/json", tabIndex: -1 });
    this.input.addEventListener("change", () => this.take(this.input.files));
    this.status = make("p", "", root);
    this.status.setAttribute("role", "status");
    for (const name of ["dragover", "dragleave", "drop"]) root.addEventListener(name, (event) => this.drag(event));
  }

  button(act) {
    const button = make("button", "", this.acts);
    button.type = "button";
    button.addEventListener("click", act);
    return button;
  }

  draw(data, send) {
    Object.assign(this, { data, send });
    const { words } = data;
    this.acts.setAttribute("aria-label", words.group);
    this.input.setAttribute("aria-label", words.open);
    this.copies.textContent = words.copy;
    this.saves.textContent = words.save;
    this.opens.textContent = words.open;
    this.opens.title = words.dropped;
  }

  say(text) {
    this.link?.remove();
    this.status.textContent = text;
  }

  // Without https a page may not write to the clipboard: then the link is shown, to be copied by hand.
  async copy() {
    try {
      await navigator.clipboard.writeText(window.location.href);
      this.say(this.data.words.copied);
    } catch {
      this.say(this.data.words.link);
      this.link = make("input", "", this.root);
      Object.assign(this.link, { type: "text", readOnly: true, value: window.location.href });
      this.link.setAttribute("aria-label", this.data.words.link);
      this.link.select();
    }
  }

  save() {
    const address = URL.createObjectURL(new Blob([this.data.text], { type: "application/json" }));
    const link = make("a");
    Object.assign(link, { href: address, download: this.data.name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
    this.say("");
  }

  // The same file can be chosen twice: it may have changed, or the view.
  async take(files) {
    const [file] = files;
    if (!file) return;
    if (file.size > this.data.largest) this.say(this.data.words.large);
    else {
      this.say("");
      this.send("open", await file.text());
    }
    this.input.value = "";
  }

  drag(event) {
    event.preventDefault();
    this.root.classList.toggle("over", event.type === "dragover");
    if (event.type === "drop") this.take(event.dataTransfer.files);
  }
}
