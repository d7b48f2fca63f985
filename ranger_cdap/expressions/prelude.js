// What a script sees, as in RangerRequestScriptEvaluator: made of JSON, for one evaluation, in a context of its own.
// A part of JavaScript or of the request that is not in the subset refuses the script when it is reached.
(function (text, allowedText, hasIntersects) {
  'use strict';
  const facts = JSON.parse(text);
  const allowed = JSON.parse(allowedText);
  const own = Object.hasOwn;
  const define = Object.defineProperty;
  const isArray = Array.isArray;
  const doubtful = facts.doubtful;
  const request = facts.request;
  let refused = false;
  let doubt = false;
  let result = false;
  let copying = false;

  function refuse() {
    refused = true;
    throw new TypeError('not in the subset');
  }

  function touch(field) {
    if (own(facts.unusable, field)) refuse();
    if (own(doubtful, field)) doubt = true;
  }

  // --- values of JavaScript -------------------------------------------------------------------------------------------

  function ascii(value) {
    if (typeof value !== 'string') refuse();
    for (let i = 0; i < value.length; i++) if (value.charCodeAt(i) > 127) refuse();
    return value;
  }

  function refusing(native) {
    return { value: function () { ascii(this); return native(this); } };
  }

  function array(value) {
    if (!isArray(value)) refuse();
    return value;
  }

  function copied(native) {
    return function (...values) {
      array(this);
      copying = true;
      try {
        return native(this, values);
      } finally {
        copying = false;
      }
    };
  }

  const uncurried = Function.prototype.bind.bind(Function.prototype.call);
  const apply = Reflect.apply;
  const { slice, concat } = Array.prototype;
  const replaced = {
    String: {
      toLowerCase: refusing(uncurried(String.prototype.toLowerCase)),
      toUpperCase: refusing(uncurried(String.prototype.toUpperCase)),
      trim: refusing(uncurried(String.prototype.trim)),
      trimEnd: refusing(uncurried(String.prototype.trimEnd)),
      trimStart: refusing(uncurried(String.prototype.trimStart)),
    },
    Number: {
      toString: { value: function (...radix) { return radix.length ? refuse() : '' + (typeof this === 'number' ? this : refuse()); } },
    },
    Array: {
      // JavaScript's own ask for the constructor of a list.
      slice: { value: copied((list, values) => apply(slice, list, values)) },
      concat: { value: copied((list, values) => apply(concat, list, values)) },
      map: {
        value: function (each, ...more) {
          if (more.length) refuse();
          array(this);
          if (typeof each !== 'function') throw new TypeError('not a function');
          const found = [];
          for (let i = 0; i < this.length; i++) found[i] = each(this[i], i, this);
          return found;
        },
      },
      filter: {
        value: function (each, ...more) {
          if (more.length) refuse();
          array(this);
          if (typeof each !== 'function') throw new TypeError('not a function');
          const found = [];
          for (let i = 0; i < this.length; i++) if (each(this[i], i, this)) found[found.length] = this[i];
          return found;
        },
      },
      constructor: { get: () => (copying ? undefined : refuse()), set: refuse },
    },
  };
  const prototypes = {
    Object: Object.prototype, Function: Function.prototype, Array: Array.prototype, String: String.prototype,
    Number: Number.prototype, Boolean: Boolean.prototype,
  };
  for (const kind of Object.keys(prototypes)) {
    const names = new Set(allowed[kind]);
    const others = own(replaced, kind) ? replaced[kind] : {};
    for (const name of Object.getOwnPropertyNames(prototypes[kind])) {
      if (own(others, name)) define(prototypes[kind], name, others[name]);
      else if (!names.has(name)) define(prototypes[kind], name, { get: refuse, set: refuse });
    }
  }
  if (hasIntersects) {
    define(Array.prototype, 'intersects', {
      value: function (others) {
        if (others == null) return false;
        array(this);
        for (let i = 0; i < this.length; i++) if (others.indexOf(this[i]) > -1) return true;
        return false;
      },
    });
  }

  // --- names ----------------------------------------------------------------------------------------------------------

  function reading(holder, name, field, value) {
    define(holder, name, { get() { touch(field); return value; }, enumerable: true });
  }

  // Without the attributes of users only the name in them is known.
  const user = !own(doubtful, 'userAttributes') ? request.userAttributes : new Proxy(request.userAttributes, {
    get(target, name) { if (name !== '_name') doubt = true; else touch('user'); return target[name]; },
    has(target, name) { doubt = true; return name in target; },
    getOwnPropertyDescriptor(target, name) { doubt = true; return Object.getOwnPropertyDescriptor(target, name); },
  });

  const REQ = {};
  for (const name of facts.fields) reading(REQ, name, name, name === 'userAttributes' ? user : request[name]);
  define(REQ, 'userAttributes', { get() { touch('user'); return user; }, enumerable: true });
  const global = globalThis;
  define(global, 'REQ', { value: REQ });
  define(global, 'USER', { get() { touch('user'); return user; } });
  reading(global, 'RES', 'resource', request.resource);
  reading(global, 'UGNAMES', 'userGroups', request.userGroups);
  reading(global, 'UG', 'userGroupAttributes', request.userGroupAttributes);
  reading(global, 'UGA', 'uga', request.uga);
  reading(global, 'URNAMES', 'userRoles', request.userRoles);
  reading(global, 'TAG', 'tag', facts.tag);
  reading(global, 'TAGS', 'tags', facts.tags);
  reading(global, 'TAGNAMES', 'tags', facts.tagNames);

  // context.js is here, for a script that uses `ctx`.
  return () => (refused ? 'refused' : (doubt ? 'doubtful ' : 'sure ') + result);
})
