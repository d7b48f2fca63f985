// The methods of `ctx`, within prelude.js: what each returns, and which fields it reads.
function texts(given, least, most) {
  if (given.length < least || given.length > most) refuse();
  for (let i = 0; i < given.length; i++) if (typeof given[i] !== 'string') refuse();
  return given;
}

function blank(value) {
  ascii(value);
  for (let i = 0; i < value.length; i++) if (value.charCodeAt(i) > 32) return false;
  return true;
}

function options(given, from) {
  const found = [];
  for (let i = from; i < given.length; i++) {
    if (given[i] !== null && typeof given[i] !== 'string') refuse();
    found[i - from] = given[i];
  }
  return found;
}

function joined(values, given, from, quoted) {
  const [fallback = null, separator = ',', open = "'", close = null] = options(given, from);
  const left = quoted ? open ?? '' : '';
  const right = quoted ? close ?? left : '';
  let found = '';
  for (let i = 0; i < values.length; i++) found += (i ? separator ?? '' : '') + left + values[i] + right;
  if (found === '' && fallback !== null) return left + fallback + right;
  return found;
}

function has(list, value) {
  for (let i = 0; i < list.length; i++) if (list[i] === value) return true;
  return false;
}

const groupAttributes = (name) => {
  const found = [];
  for (let i = 0; i < request.userGroups.length; i++) {
    const attributes = request.userGroupAttributes[request.userGroups[i]];
    if (own(attributes, name)) found[found.length] = attributes[name];
  }
  return found;
};
const tagAttributes = (type) => (own(facts.tagAttributes, type) ? facts.tagAttributes[type] : null);
const userAttribute = (name) => {
  touch(name === '_name' ? 'user' : 'userAttributes');
  return own(request.userAttributes, name) && request.userAttributes[name] !== null ? [request.userAttributes[name]] : [];
};
const anyTagHas = (name) => own(facts.valuesOfTags, name);
const valuesOfTags = (name) => (!blank(name) && anyTagHas(name) ? facts.valuesOfTags[name] : []);

const lists = {
  tagNames: ['tags', () => facts.tagNames],
  tagAttrNames: ['tags', () => facts.tagAttributeNames],
  ugNames: ['userGroups', () => request.userGroups],
  ugAttrNames: ['userGroupAttributes', () => facts.groupAttributeNames],
  urNames: ['userRoles', () => request.userRoles],
  userAttrNames: ['userAttributes', () => facts.userAttributeNames],
};
const named = {
  tagAttr: ['tags', valuesOfTags],
  ugAttr: ['userGroupAttributes', groupAttributes],
  userAttr: ['user', userAttribute],
};
const ctx = {
  getUser() { touch('user'); return request.user; },
  getAction() { touch('action'); return request.action; },
  getClientIPAddress() { touch('clientIPAddress'); return request.clientIPAddress; },
  isAccessTypeAny() { return request.accessType === '_any'; },
  hasTag(name) { texts(arguments, 1, 1); touch('tags'); return own(facts.tags, name); },
  hasAnyTag() { touch('tags'); return facts.tagNames.length > 0; },
  hasTagAttr(name) { texts(arguments, 1, 1); touch('tags'); return anyTagHas(name); },
  hasUserAttr(name) {
    texts(arguments, 1, 1);
    touch(name === '_name' ? 'user' : 'userAttributes');
    return own(request.userAttributes, name);
  },
  hasUgAttr(name) {
    texts(arguments, 1, 1);
    touch('userGroupAttributes');
    return groupAttributes(name).length > 0;
  },
  isInGroup(name) { texts(arguments, 1, 1); touch('userGroups'); return has(request.userGroups, name); },
  isInRole(name) { texts(arguments, 1, 1); touch('userRoles'); return has(request.userRoles, name); },
  isInAnyGroup() { touch('userGroups'); return request.userGroups.length > 0; },
  isInAnyRole() { touch('userRoles'); return request.userRoles.length > 0; },
  isAccessTimeAfter(from, zone) { texts(arguments, 1, 2); return now() > moment(from, zone); },
  isAccessTimeBefore(to, zone) { texts(arguments, 1, 2); return now() < moment(to, zone); },
  isAccessTimeBetween(from, to, zone) {
    texts(arguments, 2, 3);
    const time = now();
    return time >= moment(from, zone) && time < moment(to, zone);
  },
  isAccessedAfter() { const date = dateOfTag(arguments); return date === null || now() >= date; },
  isAccessedBefore() { const date = dateOfTag(arguments); return date !== null && now() <= date; },
  getCurrentTagType() { touch('tag'); return facts.currentTag === null ? null : facts.currentTag.type; },
  getAttributeValue() { return attributeValue(arguments); },
  getRequestContextAttribute(name) {
    texts(arguments, 1, 1);
    return own(facts.context, name) ? facts.context[name] : refuse();
  },
  setResult(value) {
    if (arguments.length !== 1 || typeof value !== 'boolean') refuse();
    result = value;
    return null; // as a method of Java without a result
  },
  getResult() { return result; },
};
for (const name of Object.keys(lists)) {
  const [field, values] = lists[name];
  ctx[name] = function () { touch(field); return joined(values(), arguments, 0, false); };
  ctx[name + 'Q'] = function () { touch(field); return joined(values(), arguments, 0, true); };
  ctx[name + 'Csv'] = ctx[name];
  ctx[name + 'CsvQ'] = ctx[name + 'Q'];
}
for (const name of Object.keys(named)) {
  const [field, values] = named[name];
  const list = (given) => {
    if (given.length < 1 || typeof given[0] !== 'string') refuse();
    touch(field);
    return values(given[0]);
  };
  ctx[name] = function () { return joined(list(arguments), arguments, 1, false); };
  ctx[name + 'Q'] = function () { return joined(list(arguments), arguments, 1, true); };
  if (name === 'userAttr') continue;
  ctx[name + 'Csv'] = function () { texts(arguments, 1, 1); return ctx[name](arguments[0]); };
  ctx[name + 'CsvQ'] = function () { texts(arguments, 1, 1); return ctx[name + 'Q'](arguments[0]); };
}
const withoutArguments = ['getUser', 'getAction', 'getClientIPAddress', 'isAccessTypeAny', 'hasAnyTag', 'isInAnyGroup',
  'isInAnyRole', 'getCurrentTagType', 'getResult'];
for (const name of Object.keys(lists)) {
  withoutArguments[withoutArguments.length] = name + 'Csv';
  withoutArguments[withoutArguments.length] = name + 'CsvQ';
}
for (const name of withoutArguments) {
  const method = ctx[name];
  ctx[name] = function () { return arguments.length ? refuse() : apply(method, ctx, []); };
}

function now() {
  touch('accessTime');
  return own(request, 'accessTime') ? request.accessTime : refuse();
}

function moment(date, zone) {
  const key = date + '|' + (zone ?? '');
  return own(facts.moments, key) ? facts.moments[key] : refuse();
}

function attributeValue(given) {
  texts(given, 1, 2);
  for (let i = 0; i < given.length; i++) if (blank(given[i])) return null;
  let attributes;
  if (given.length === 1) {
    touch('tag');
    attributes = facts.currentTag === null ? null : facts.currentTag.attributes;
  } else {
    touch('tags');
    attributes = tagAttributes(given[0]);
  }
  const name = given[given.length - 1];
  return attributes !== null && own(attributes, name) ? attributes[name] : null;
}

function dateOfTag(given) {
  const value = attributeValue(given);
  if (value === null || !own(facts.dates, value)) {
    doubt = true;
    return null;
  }
  return facts.dates[value];
}

define(global, 'ctx', { value: ctx });
