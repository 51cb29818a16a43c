import { readFileSync } from 'node:fs'
import { defineConfig } from 'vitepress'

const repository = 'https://github.com/sqluice/sqluice'
const icon = "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'><path fill='%232b50a8' d='M1 2h14v3H1zm2 5h10v3H3zm2 5h6v3H5z'/></svg>"
const base = process.env.DOCS_BASE ?? '/'

// slugify gives headings the anchors that GitHub gives them, so that a link works in both places.
function slugify(text: string): string {
  return text.trim().toLowerCase().replace(/[^\p{L}\p{M}\p{Nd}_ -]/gu, '').replaceAll(' ', '-')
}

const generated = (name: string) => readFileSync(new URL('../src/' + name, import.meta.url), 'utf8')

// weigh returns the weight of a page in searches. It runs in the browser, without this file's constants, so the weights are a part of it.
const weigh = new Function('id', `const ranks = ${generated('ranks.json')}; return ranks['/' + id.split('#')[0].slice(${base.length})] ?? 1`) as (id: string) => number

export default defineConfig({
  title: 'sqluice',
  description: 'A job queue for Go on SQLite and PostgreSQL whose every query is SQL you own.',
  base,
  head: [['link', { rel: 'icon', href: icon }]],
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
      // On a phone each cell says what it is, by the header of its column.
      md.core.ruler.push('labels', (state) => {
        let headers: string[] = []
        let column = 0
        state.tokens.forEach((token, i, all) => {
          if (token.type === 'table_open') headers = []
          if (token.type === 'tr_open') column = 0
          if (token.type === 'th_open') headers.push(all[i + 1].content.replaceAll('`', ''))
          if (token.type === 'td_open') token.attrSet('data-label', headers[column++] ?? '')
        })
      })
      // A cell without text is no header.
      md.core.ruler.push('empty_headers', (state) => {
        state.tokens.forEach((token, i, all) => {
          if (token.type === 'th_open' && all[i + 1].content === '') token.tag = all[i + 2].tag = 'td'
        })
      })
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
            boostDocument: weigh,
          },
        },
      },
    },
    nav: [
      { text: 'Start', link: '/start' },
      { text: 'Reference', link: '/lifecycle' },
      { text: 'Promises', link: '/reliability' },
    ],
    sidebar: JSON.parse(generated('sidebar.json')),
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
