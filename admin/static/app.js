// Additions to pages, which are complete without this script.
'use strict';

(() => {
  const main = () => document.getElementById('main');

  // --- Times -------------------------------------------------------------------------------------------------------

  // The same texts as the server's relative times.
  const age = (ms) => {
    for (const [unit, size] of [['d', 86400e3], ['h', 3600e3], ['min', 60e3]]) {
      if (ms >= size) return Math.floor(ms / size) + ' ' + unit;
    }
    return Math.floor(ms / 1e3) + ' s';
  };
  const relative = (ms) => ms <= -1e3 ? 'in ' + age(-ms) : ms < 1e3 ? 'just now' : age(ms) + ' ago';

  // Times are relative to the queue's clock.
  let ahead = 0;
  const tellTimes = () => {
    for (const time of document.querySelectorAll('time[data-relative]')) {
      const at = Date.parse(time.dateTime);
      if (!(at > 0)) continue; // the zero time: never
      const text = relative(Date.now() + ahead - at);
      if (time.textContent !== text) time.textContent = text;
    }
    for (const time of document.querySelectorAll('time[data-clock]')) {
      const at = Date.parse(time.dateTime);
      if (at > 0) time.title = relative(Date.now() + ahead - at);
    }
  };
  setInterval(tellTimes, 5000);

  // --- The number of failed jobs in the navigation -----------------------------------------------------------------

  const tellFailed = (text) => {
    const count = document.getElementById('nav-failed');
    if (text === undefined || !count) return;
    count.textContent = text;
    count.hidden = text === '0';
  };

  // --- Lists -------------------------------------------------------------------------------------------------------

  const boxes = () => [...document.querySelectorAll('#list input[name="id"]')];
  const tellPicked = () => {
    const all = document.querySelector('[data-all]');
    const note = document.querySelector('[data-picked]');
    if (!all || !note) return;
    const picked = boxes().filter((box) => box.checked).length;
    all.hidden = false;
    all.checked = picked > 0 && picked === boxes().length;
    all.indeterminate = picked > 0 && !all.checked;
    note.textContent = picked + (picked === 1 ? ' job ticked:' : ' jobs ticked:');
    for (const button of document.querySelectorAll('#list button[value$=" picked"]')) button.disabled = picked === 0;
  };
  document.addEventListener('change', (event) => {
    if (event.target.matches('[data-all]')) {
      for (const box of boxes()) box.checked = event.target.checked;
    }
    if (event.target.closest('#list')) tellPicked();
  });

  // --- Copying -----------------------------------------------------------------------------------------------------

  const offerCopies = () => {
    if (!navigator.clipboard) return;
    for (const button of document.querySelectorAll('[data-copy]')) button.hidden = false;
  };
  document.addEventListener('click', async (event) => {
    const button = event.target.closest('[data-copy]');
    if (!button) return;
    const text = document.getElementById(button.dataset.copy).textContent;
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = 'Copied';
    } catch {
      button.textContent = 'Not allowed';
    }
    setTimeout(() => { button.textContent = 'Copy'; }, 1500);
  });

  // --- Keys: / for the filter, j and k through the list -----------------------------------------------------------

  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest('input, select, textarea, [contenteditable]')) return;
    const rows = [...document.querySelectorAll('[data-row]')];
    const at = rows.indexOf(document.activeElement);
    let to = null;
    if (event.key === '/') to = document.querySelector('[data-search]');
    if (event.key === 'j') to = rows[Math.min(at + 1, rows.length - 1)];
    if (event.key === 'k') to = rows[Math.max(at - 1, 0)];
    if (!to) return;
    event.preventDefault();
    to.focus();
  });

  // --- Live --------------------------------------------------------------------------------------------------------

  // same updates an element to the server's new version. It keeps unchanged nodes, so that the focus, the selection, ticks and
  // open details stay. It finds elements with ids again wherever they are, and never reuses one for another id: ids of buttons
  // and forms name their action, so that a button with the focus never gets another action.
  const idOf = (node) => node && node.nodeType === Node.ELEMENT_NODE && node.getAttribute('id'); // form.id would be an input with that name
  const same = (old, now) => {
    for (const {name, value} of [...now.attributes]) {
      if (old.getAttribute(name) !== value) old.setAttribute(name, value);
    }
    for (const {name} of [...old.attributes]) {
      // Attributes that the user or this script set: open and disabled.
      if (!now.hasAttribute(name) && !['open', 'disabled'].includes(name)) old.removeAttribute(name);
    }
    if (old.hasAttribute('data-chart')) { // charts.js draws it
      old.dispatchEvent(new Event('figures'));
      return;
    }
    let place = old.firstChild;
    for (const next of [...now.childNodes]) {
      let match = place;
      if (idOf(next)) {
        match = [...old.children].find((child) => idOf(child) === idOf(next)) || null;
      } else if (place && (place.nodeName !== next.nodeName || idOf(place))) {
        match = null;
      }
      if (!match) {
        old.insertBefore(document.importNode(next, true), place);
        continue;
      }
      if (match === place) place = place.nextSibling;
      else old.insertBefore(match, place);
      if (match.nodeType === Node.ELEMENT_NODE) same(match, next);
      else if (match.data !== next.data) match.data = next.data;
    }
    while (place) {
      const next = place.nextSibling;
      place.remove();
      place = next;
    }
  };

  const enhance = () => {
    tellPicked();
    offerCopies();
    tellTimes();
  };

  // A page is updated at most once a second, and not while jobs are ticked or a list is open.
  let reading = false;
  let again = false;
  const busy = () => boxes().some((box) => box.checked) || main().querySelector('select:focus, input:not([type="checkbox"]):focus');
  const refresh = () => {
    if (reading || document.hidden || busy()) {
      again = true;
      return;
    }
    reading = true;
    again = false;
    const request = new XMLHttpRequest(); // returns a document, so that no script turns text into markup
    request.open('GET', location.href);
    request.responseType = 'document';
    request.setRequestHeader('Sqluice-Fragment', '1');
    request.onloadend = () => {
      const fresh = request.status === 200 && request.response && request.response.getElementById('main');
      if (fresh && !busy()) {
        const now = Date.parse(fresh.dataset.now);
        tellFailed(fresh.dataset.failed);
        if (now) ahead = Math.abs(now - Date.now()) > 5000 ? now - Date.now() : 0;
        const focused = document.activeElement;
        same(main(), fresh);
        // An element that moved has lost the focus and gets it again. The focus of a removed element goes to no other.
        if (main().contains(focused) && focused !== document.activeElement) focused.focus({preventScroll: true});
        enhance();
      }
      setTimeout(() => {
        reading = false;
        if (again) refresh();
      }, 1000);
    };
    request.send();
  };

  let stream = null;
  const live = document.getElementById('live');
  const watch = () => {
    if (document.hidden) { // browsers limit the connections to a server: leave them to other tabs
      if (stream) stream.close();
      stream = null;
      return;
    }
    if (stream || !document.body.dataset.events) return;
    stream = new EventSource(document.body.dataset.events);
    stream.addEventListener('open', () => { live.hidden = false; });
    stream.addEventListener('error', () => {
      live.hidden = true;
      if (!stream || stream.readyState !== EventSource.CLOSED) return; // it reconnects by itself
      stream = null; // after an answer without a stream, as of a proxy while the server restarts, it does not
      again = true;
      setTimeout(watch, 2000 + Math.random() * 8000);
    });
    stream.addEventListener('change', refresh);
    if (again) refresh();
  };
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) again = true;
    watch();
  });
  document.addEventListener('focusout', () => { if (again) refresh(); });

  enhance();
  watch();
})();
