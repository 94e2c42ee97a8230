// The reader's stored language and theme. A page opened from a file may be refused storage; then they last
// until it is closed.

export function recall(key: string): string | null {
  try {
    return localStorage.getItem(`longfat.${key}`);
  } catch {
    return null;
  }
}

export function keep(key: string, value: string): void {
  try {
    localStorage.setItem(`longfat.${key}`, value);
  } catch {
    // The choice is only not remembered.
  }
}
