// Plays: once what a run drew is here, asks for the next token after a pause. Draws nothing.

const players = new WeakMap();

export default function ({ data, parentElement, setTriggerValue }) {
  const player = players.get(parentElement) ?? { timer: 0, sent: "" };
  players.set(parentElement, player);
  clearTimeout(player.timer);
  // A turn is asked for once, however often the page is drawn meanwhile.
  if (data.playing && data.turn !== player.sent) {
    player.timer = setTimeout(() => {
      player.sent = data.turn;
      setTriggerValue("tick", data.turn);
    }, data.wait);
  }
  return () => clearTimeout(player.timer);
}
