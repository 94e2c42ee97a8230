// The reader's choices of language and theme. A page from a file may be refused storage: then they last until it is closed.

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
    // Nothing is lost but comfort.
  }
}
