/** A letter for each region, so that servers can be told apart without their colours: A to Z, then AA, AB and so on. */

export function regionLetter(region: number): string {
  let letters = "";
  for (let rest = region + 1; rest > 0; rest = Math.floor((rest - 1) / 26)) {
    letters = String.fromCharCode(65 + ((rest - 1) % 26)) + letters;
  }
  return letters;
}
