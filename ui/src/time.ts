/** How long ago, in the one or two units that a person would say. */
export function age(then: string | undefined | null, now: number): string {
  const at = then ? Date.parse(then) : NaN;
  if (Number.isNaN(at)) return "–";
  const seconds = Math.max(0, Math.round((now - at) / 1000));
  if (seconds < 60) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return minutes % 60 && hours < 8 ? `${hours}h ${minutes % 60}m` : `${hours}h`;
  const days = Math.floor(hours / 24);
  if (days < 365) return hours % 24 && days < 4 ? `${days}d ${hours % 24}h` : `${days}d`;
  return `${Math.floor(days / 365)}y ${days % 365}d`;
}

/** A point in time for people, in their own zone. */
export function moment(text: string | undefined | null): string {
  const at = text ? new Date(text) : undefined;
  if (!at || Number.isNaN(at.getTime())) return "–";
  const two = (value: number) => String(value).padStart(2, "0");
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}
