import { readFileSync } from 'node:fs'
import { defineConfig } from 'vitepress'

const repository = 'https://github.com/sqluice/sqluice'

// slugify gives headings the anchors that GitHub gives them, so that a link works in both places.
function slugify(text: string): string {
  return text.trim().toLowerCase().replace(/[^\p{L}\p{M}\p{Nd}_ -]/gu, '').replaceAll(' ', '-')
}

export default defineConfig({
  title: 'sqluice',
  description: 'A job queue for Go on SQLite and PostgreSQL whose every query is SQL you own.',
  base: process.env.DOCS_BASE ?? '/',
  srcDir: 'src',
  outDir: 'dist',
  cacheDir: '.vitepress/cache',
  srcExclude: ['public/**'],
  cleanUrls: false,
  lastUpdated: false,
  ignoreDeadLinks: false,
  markdown: {
    anchor: { slugify },
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    config(md) {
      // Tables scroll by themselves on a narrow screen, also by the keyboard.
      md.renderer.rules.table_open = () => '<div class="table" tabindex="0" role="group" aria-label="table"><table>\n'
      md.renderer.rules.table_close = () => '</table></div>\n'
    },
  },
  themeConfig: {
    search: {
      provider: 'local',
      options: {
        // The words of a page are found as its own text is, but are not shown.
        async _render(source, env, md) {
          const html = md.render(source, env)
          const words = env.frontmatter?.words
          return words ? html.replace('</h1>', `</h1>\n<p>${md.utils.escapeHtml(words)}</p>`) : html
        },
        miniSearch: {
          searchOptions: {
            fuzzy: 0.1,
            prefix: true,
            boost: { title: 4, text: 2, titles: 1 },
            // A guide comes before a reference that is generated, and that before a decision.
            boostDocument: (id: string) => (/\/decisions\//.test(id) ? 0.2 : /\/(go\/|cli|conformance|performance)/.test(id) ? 0.4 : 1),
          },
        },
      },
    },
    nav: [
      { text: 'Start', link: '/start' },
      { text: 'Reference', link: '/lifecycle' },
      { text: 'Promises', link: '/reliability' },
    ],
    sidebar: JSON.parse(readFileSync(new URL('../src/sidebar.json', import.meta.url), 'utf8')),
    outline: [2, 3],
    socialLinks: [{ icon: 'github', link: repository }],
    // The function runs in the browser, without this file's constants.
    editLink: { pattern: ({ frontmatter }) => 'https://github.com/sqluice/sqluice/edit/main/' + frontmatter.source, text: 'Change this page' },
    externalLinkIcon: true,
  },
  transformPageData(page) {
    // Pages that are written by programs cannot be edited.
    if (!page.frontmatter.source) page.frontmatter.editLink = false
  },
})
