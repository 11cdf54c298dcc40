import type { Filters } from "./index.js";

/** The attributes of the script element widget.js, without data-. */
export interface WidgetOptions {
  /** A publishable key. */
  key: string;
  /** The URL of Magpie. */
  baseUrl: string | URL;
  /** Tells several widgets of a page apart. */
  name?: string;
  collection?: string;
  filters?: Filters;
  /** 0 to 1. */
  minScore?: number;
  /** Versions to choose from; `auto` finds them in the documents. */
  versions?: string[] | "auto";
  mode?: "both" | "search" | "chat";
  theme?: "auto" | "light" | "dark";
  /** A colour: `#0a7d5a`. */
  accent?: string;
  /** Whether there is a button that opens the widget. */
  button?: boolean;
  /** `mod+k`, several separated by commas, or `none`. */
  hotkey?: string;
  title?: string;
  placeholder?: string;
  /** Texts that replace those of the widget. */
  labels?: Record<string, string>;
  /** A language tag; default that of the page. */
  lang?: string;
}

export interface Widget {
  readonly name: string;
  readonly element: HTMLElement;
  open(options?: { mode?: "search" | "chat"; query?: string }): void;
  close(): void;
  /** Removes the widget and its listeners. */
  unmount(): void;
}

/** Creates a widget within an element of the page. */
export declare function mount(element: Element, options: WidgetOptions): Promise<Widget>;
