// What pages can do beyond what forms and links do: they are complete without this.
'use strict';

(() => {
  const main = () => document.getElementById('main');

  // --- Times -------------------------------------------------------------------------------------------------------

  // The same words as the server's.
  const age = (ms) => {
    for (const [unit, size] of [['d', 86400e3], ['h', 3600e3], ['min', 60e3]]) {
      if (ms >= size) return Math.floor(ms / size) + ' ' + unit;
    }
    return Math.floor(ms / 1e3) + ' s';
  };
  const relative = (ms) => ms <= -1e3 ? 'in ' + age(-ms) : ms < 1e3 ? 'just now' : age(ms) + ' ago';

  // The server's clock is the one that its times are of.
  let ahead = 0;
  const tellTimes = () => {
    for (const time of document.querySelectorAll('time[data-relative]')) {
      const at = Date.parse(time.dateTime);
      if (!(at > 0)) continue; // of the year 1: never
      const text = relative(Date.now() + ahead - at);
      if (time.textContent !== text) time.textContent = text;
    }
  };
  setInterval(tellTimes, 5000);

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

  // same makes an element what the server now says it is, and leaves alone what has not changed, so that the focus, the
  // selection, ticks and open details stay. Elements with ids are known again wherever they have moved to, and never become
  // others: buttons and forms have ids of what they do, so that none with the focus comes to do something else.
  const idOf = (node) => node && node.nodeType === Node.ELEMENT_NODE && node.getAttribute('id'); // form.id is an input of that name
  const same = (old, now) => {
    for (const {name, value} of [...now.attributes]) {
      if (old.getAttribute(name) !== value) old.setAttribute(name, value);
    }
    for (const {name} of [...old.attributes]) {
      // What the page has made of itself: opened, offered, switched off.
      if (!now.hasAttribute(name) && !['open', 'disabled'].includes(name)) old.removeAttribute(name);
    }
    if (old.hasAttribute('data-chart')) { // drawn by a script
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

  // A page is read again at most once a second, and not while somebody has ticked jobs or picks from a list in it.
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
    const request = new XMLHttpRequest(); // gives a document without a script making markup of text
    request.open('GET', location.href);
    request.responseType = 'document';
    request.setRequestHeader('Sqluice-Fragment', '1');
    request.onloadend = () => {
      const fresh = request.status === 200 && request.response && request.response.getElementById('main');
      if (fresh && !busy()) {
        const date = Date.parse(request.getResponseHeader('Date'));
        if (date) ahead = Math.abs(date - Date.now()) > 5000 ? date - Date.now() : 0;
        const focused = document.activeElement;
        same(main(), fresh);
        // What was moved has lost the focus. What is gone has left it to nothing, since another button may do the opposite.
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
    if (document.hidden) { // browsers open few connections to a server, and other tabs need theirs
      if (stream) stream.close();
      stream = null;
      return;
    }
    if (stream || !document.body.dataset.events) return;
    stream = new EventSource(document.body.dataset.events);
    stream.addEventListener('open', () => { live.hidden = false; });
    stream.addEventListener('error', () => {
      live.hidden = true;
      if (!stream || stream.readyState !== EventSource.CLOSED) return; // it comes again by itself
      stream = null; // after an answer that was none, as of a proxy while the server starts anew, it does not
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
