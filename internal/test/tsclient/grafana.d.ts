import type { Dashboard } from "@grafana/schema";

// In a file enumerations are what their members are.
type InFile<T> = T extends string
  ? `${T}`
  : T extends (infer E)[]
    ? InFile<E>[]
    : T extends object
      ? { [K in keyof T]: InFile<T[K]> }
      : T;

// What an export has for the one who imports it, beside the dashboard.
interface Export {
  __inputs: [];
  __requires: { type: "grafana" | "datasource" | "panel"; id: string; name: string; version: string }[];
}

export type DashboardFile = InFile<Dashboard> & Export;
