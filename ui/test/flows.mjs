export async function flows() {}
