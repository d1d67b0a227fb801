// Unpacks the module, which is an .lzma file: it is smaller than what hosts make of it, and hosts that compress nothing send it as it is.

/** Bytes after which the page has a turn: a fiftieth of a second. */
const TURN = 1 << 18;

/** The bytes in an .lzma file. */
export async function unpack(bytes) {
  const damaged = () => new Error("the packed module is damaged");
  const header = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < 18 || bytes[0] >= 9 * 5 * 5) throw damaged();
  const [lc, lp, pb] = [bytes[0] % 9, Math.floor(bytes[0] / 9) % 5, Math.floor(bytes[0] / 45)];
  const size = header.getUint32(5, true);
  // A module of this size would not be ours.
  if (header.getUint32(9, true) !== 0 || size > 1 << 28) throw damaged();
  const out = new Uint8Array(size);

  // What remains of the interval, and where the code is in it. An array, whose values wrap and are never boxed.
  const coder = Uint32Array.of(0xffffffff, header.getUint32(14));
  let at = 18;
  const shift = () => {
    if (at > bytes.length) throw damaged();
    coder[0] <<= 8;
    coder[1] = (coder[1] << 8) | bytes[at++];
  };
  const bit = (odds, i) => {
    const odd = odds[i];
    const bound = Math.imul(coder[0] >>> 11, odd) >>> 0;
    const one = coder[1] >= bound;
    if (one) {
      coder[0] -= bound;
      coder[1] -= bound;
      odds[i] = odd - (odd >> 5);
    } else {
      coder[0] = bound;
      odds[i] = odd + ((2048 - odd) >> 5);
    }
    if (coder[0] < 1 << 24) shift();
    return one ? 1 : 0;
  };
  const plain = (count) => {
    let value = 0;
    while (count--) {
      coder[0] >>>= 1;
      const one = coder[1] >= coder[0];
      if (one) coder[1] -= coder[0];
      value = (value << 1) | (one ? 1 : 0);
      if (coder[0] < 1 << 24) shift();
    }
    return value;
  };
  const tree = (odds, from, count) => {
    let node = 1;
    for (let i = 0; i < count; i++) node = (node << 1) | bit(odds, from + node);
    return node - (1 << count);
  };
  // The lowest bit first.
  const reversed = (odds, from, count) => {
    let value = 0;
    for (let i = 0, node = 1; i < count; i++) {
      const one = bit(odds, from + node);
      node = (node << 1) | one;
      value |= one << i;
    }
    return value;
  };

  const even = (count) => new Uint16Array(count).fill(1024);
  const literals = even(0x300 << (lc + lp));
  const [isMatch, isShort] = [even(12 << 4), even(12 << 4)];
  const [isRepeated, notFirst, notSecond, notThird] = [even(12), even(12), even(12), even(12)];
  const [slots, near, align] = [even(4 << 6), even(115), even(16)];
  const lengths = () => ({ longer: even(2), low: even(16 << 3), middle: even(16 << 3), high: even(256) });
  const [matched, repeated] = [lengths(), lengths()];
  const length = (of, place) => {
    if (!bit(of.longer, 0)) return tree(of.low, place << 3, 3);
    if (!bit(of.longer, 1)) return 8 + tree(of.middle, place << 3, 3);
    return 16 + tree(of.high, 0, 8);
  };
  const distance = (slot) => {
    if (slot < 4) return slot;
    const count = (slot >> 1) - 1;
    const base = (2 | (slot & 1)) << count;
    if (slot < 14) return base + reversed(near, base - slot, count);
    return base + (plain(count - 4) << 4) + reversed(align, 0, 4);
  };

  let [first, second, third, fourth] = [0, 0, 0, 0];
  for (let to = 0, state = 0, turn = TURN; to < size;) {
    if (to >= turn) {
      await new Promise((resolve) => setTimeout(resolve));
      turn += TURN;
    }
    const place = to & ((1 << pb) - 1);
    if (!bit(isMatch, (state << 4) + place)) {
      const before = to ? out[to - 1] : 0;
      const from = 0x300 * (((to & ((1 << lp) - 1)) << lc) + (before >> (8 - lc)));
      let value = 1;
      // After a match, the byte that did not follow it any more tells something.
      for (let other = out[to - first - 1], same = state >= 7; same && value < 0x100;) {
        other <<= 1;
        const one = bit(literals, from + 0x100 + (other & 0x100) + value);
        value = (value << 1) | one;
        same = (other >> 8 & 1) === one;
      }
      while (value < 0x100) value = (value << 1) | bit(literals, from + value);
      out[to++] = value;
      state = state < 4 ? 0 : state < 10 ? state - 3 : state - 6;
      continue;
    }
    let count;
    if (!bit(isRepeated, state)) {
      count = 2 + length(matched, place);
      [fourth, third, second] = [third, second, first];
      first = distance(tree(slots, Math.min(count - 2, 3) << 6, 6));
      state = state < 7 ? 7 : 10;
    } else if (!bit(notFirst, state)) {
      const long = bit(isShort, (state << 4) + place);
      count = long ? 2 + length(repeated, place) : 1;
      state = long ? (state < 7 ? 8 : 11) : state < 7 ? 9 : 11;
    } else {
      if (!bit(notSecond, state)) [first, second] = [second, first];
      else if (!bit(notThird, state)) [first, second, third] = [third, first, second];
      else [first, second, third, fourth] = [fourth, first, second, third];
      count = 2 + length(repeated, place);
      state = state < 7 ? 8 : 11;
    }
    if (first < 0 || first >= to || to + count > size) throw damaged();
    for (const end = to + count; to < end; to++) out[to] = out[to - first - 1];
  }
  return out;
}
