'use strict';
(() => {
  const csv = rows => rows.map(row => row.map(text => /[",\n]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text).join(',')).join('\n') + '\n';
  const copier = (rows, put, label) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = label;
    button.onclick = async () => {
      const text = csv(rows());
      try { await navigator.clipboard.writeText(text); } catch {
        const area = document.createElement('textarea');
        area.value = text; document.body.append(area); area.select();
        document.execCommand('copy'); area.remove();
      }
      button.textContent = 'Copied'; setTimeout(() => { button.textContent = label; }, 1500);
    };
    put(button);
    return button;
  };
  const cellText = cell => [...cell.childNodes].filter(node => node.nodeName !== 'I').map(node => node.textContent).join('').trim();
  for (const box of document.querySelectorAll('.scroll')) {
    copier(() => [...box.querySelectorAll('tr')].map(row => [...row.cells].map(cellText)), button => { const caption = box.querySelector('caption'); caption ? caption.append(button) : box.before(button); }, 'Copy as CSV');
  }

  const story = document.querySelector('.story'), source = document.getElementById('story-data');
  if (!story || !source) return;
  const data = JSON.parse(source.textContent);
  const pad = n => String(n).padStart(2, '0');
  const clock = ms => { const s = Math.round(ms / 1000); return Math.floor(s / 3600) + ':' + pad(Math.floor(s / 60) % 60) + ':' + pad(s % 60); };
  const show = (value, unit) => value === null ? 'n/a' : (Math.abs(value) >= 100 ? Math.round(value).toLocaleString('en') : value) + (unit ? ' ' + unit : '');
  copier(() => [['time_s', ...data.panels.flatMap(p => p.series.map(s => p.title + ': ' + s.name))],
    ...data.at.map((at, i) => [String(at / 1000), ...data.panels.flatMap(p => p.series.map(s => s.values[i] === null ? '' : String(s.values[i])))])], button => story.before(button), 'Copy all series as CSV');
  const reset = document.createElement('button');
  reset.type = 'button'; reset.textContent = 'Show the whole run'; reset.hidden = true;
  story.before(reset);

  const panels = [...story.querySelectorAll('.panel')];
  const plots = panels.map(panel => panel.querySelector('.plot'));
  const lines = plots.map(plot => { const line = document.createElement('div'); line.className = 'cross'; line.hidden = true; plot.append(line); return line; });
  const outs = plots.map(plot => { const out = document.createElement('span'); out.className = 'readout'; plot.append(out); return out; });
  let view = [0, 1], at = null, start = null;
  const fraction = event => {
    const box = plots[0].getBoundingClientRect();
    return view[0] + Math.min(1, Math.max(0, (event.clientX - box.left) / box.width)) * (view[1] - view[0]);
  };
  const place = x => (x - view[0]) / (view[1] - view[0]) * 100;
  const cross = x => {
    at = x;
    const moment = x * data.end;
    let i = data.at.findIndex(t => t >= moment);
    if (i < 0) i = data.at.length - 1;
    if (i > 0 && moment - data.at[i - 1] < data.at[i] - moment) i--;
    data.panels.forEach((panel, n) => {
      lines[n].hidden = false;
      lines[n].style.left = place(x) + '%';
      outs[n].classList.toggle('left', place(x) > 50);
      outs[n].textContent = clock(data.at[i]) + '  ' + panel.series.filter(s => s.values[i] !== null).map(s => s.name + ' ' + show(s.values[i], panel.unit)).join(' · ');
    });
  };
  const hide = () => { at = null; lines.forEach(line => { line.hidden = true; }); outs.forEach(out => { out.textContent = ''; }); };

  const moved = [...story.querySelectorAll('.lane .plot > span')].map(span => [span, parseFloat(span.style.left), parseFloat(span.style.width)]);
  const axis = story.querySelector('.axis .plot'), wholeAxis = [...axis.childNodes];
  const label = (from, to) => {
    if (from === 0 && to === 1) return axis.replaceChildren(...wholeAxis);
    axis.replaceChildren(...[0, .2, .4, .6, .8, 1].map(part => {
      const span = document.createElement('span');
      span.textContent = clock((from + part * (to - from)) * data.end);
      span.style.left = part * 100 + '%';
      if (part === 1) span.style.transform = 'translateX(-100%)';
      return span;
    }));
  };
  const zoom = (from, to) => {
    view = [from, to];
    label(from, to);
    reset.hidden = from === 0 && to === 1;
    const width = to - from;
    for (const plot of plots) {
      plot.style.overflow = 'hidden';
      plot.querySelector('svg').setAttribute('viewBox', from * 1000 + ' 0 ' + width * 1000 + ' 100');
    }
    for (const [span, left, wide] of moved) {
      const a = Math.max(0, (left / 100 - from) / width * 100);
      const right = Number.isNaN(wide) ? (left / 100 - from) / width * 100 : Math.min(100, ((left + wide) / 100 - from) / width * 100);
      span.style.left = a + '%';
      if (!Number.isNaN(wide)) span.style.width = Math.max(0, right - a) + '%';
      span.hidden = right < 0 || a > 100 || (!Number.isNaN(wide) && right <= 0);
      span.style.display = span.hidden ? 'none' : '';
    }
  };
  reset.onclick = () => zoom(0, 1);

  const selection = plots.map(plot => { const area = document.createElement('div'); area.className = 'select'; area.hidden = true; plot.append(area); return area; });
  story.addEventListener('pointermove', event => {
    const x = fraction(event);
    cross(x);
    if (start !== null) selection.forEach(area => {
      area.hidden = false;
      area.style.left = place(Math.min(start, x)) + '%';
      area.style.width = Math.abs(place(x) - place(start)) + '%';
    });
  });
  story.addEventListener('pointerdown', event => { if (event.pointerType === 'mouse' && event.button === 0 && event.target.closest('.panel .plot')) { start = fraction(event); event.preventDefault(); } });
  addEventListener('pointerup', event => {
    if (start === null) return;
    const x = fraction(event), from = Math.min(start, x), to = Math.max(start, x);
    start = null;
    selection.forEach(area => { area.hidden = true; });
    if (to - from > (view[1] - view[0]) / 100) zoom(from, to);
  });
  story.addEventListener('dblclick', () => zoom(0, 1));
  story.addEventListener('pointerleave', () => { if (start === null) hide(); });
  story.addEventListener('keydown', event => {
    const step = (view[1] - view[0]) / 100 * (event.shiftKey ? 10 : 1);
    if (event.key === 'ArrowRight') cross(Math.min(view[1], (at ?? view[0]) + step));
    else if (event.key === 'ArrowLeft') cross(Math.max(view[0], (at ?? view[1]) - step));
    else if (event.key === 'Escape') { hide(); zoom(0, 1); } else return;
    event.preventDefault();
  });
})();
