import math
import random

import torch
import torch.nn.functional as F

torch.manual_seed(5)
random.seed(5)

subjects = ["the time traveller", "a small grey cat", "my old friend", "the quiet doctor"]
verbs = ["looked at", "walked towards", "spoke about", "waited beside"]
objects = ["the strange machine", "an open window", "the burning lamp", "that empty chair"]
text = " ".join(
    f"{random.choice(subjects)} {random.choice(verbs)} {random.choice(objects)}" for _ in range(500)
)
chars = sorted(set(text))
vocab = {c: i for i, c in enumerate(chars)}
corpus = torch.tensor([vocab[c] for c in text])
V, H, batch_size, num_steps = len(chars), 128, 32, 25


def seq_batches():
    offset = random.randint(0, num_steps - 1)
    n = (len(corpus) - offset - 1) // batch_size * batch_size
    Xs = corpus[offset : offset + n].reshape(batch_size, -1)
    Ys = corpus[offset + 1 : offset + 1 + n].reshape(batch_size, -1)
    for i in range(0, Xs.size(1) // num_steps * num_steps, num_steps):
        yield Xs[:, i : i + num_steps], Ys[:, i : i + num_steps]


def init_params():
    def normal(*shape):
        return torch.randn(shape) * 0.05

    params = [normal(V, H), normal(H, H), torch.zeros(H), normal(H, V), torch.zeros(V)]
    return [p.requires_grad_() for p in params]


def rnn(inputs, H_prev, params):
    W_xh, W_hh, b_h, W_hq, b_q = params
    outputs = []
    for x in F.one_hot(inputs.T, V).float():
        H_prev = torch.tanh(x @ W_xh + H_prev @ W_hh + b_h)
        outputs.append(H_prev @ W_hq + b_q)
    return torch.cat(outputs, dim=0), H_prev


def grad_clipping(params, theta):
    norm = torch.sqrt(sum((p.grad**2).sum() for p in params))
    if norm > theta:
        for p in params:
            p.grad *= theta / norm


def predict(prefix, n, params):
    state = torch.zeros(1, H)
    out = [vocab[prefix[0]]]
    with torch.no_grad():
        for c in prefix[1:]:
            _, state = rnn(torch.tensor([[out[-1]]]), state, params)
            out.append(vocab[c])
        for _ in range(n):
            y, state = rnn(torch.tensor([[out[-1]]]), state, params)
            out.append(int(y.argmax(1)))
    return "".join(chars[i] for i in out)


params = init_params()
for epoch in range(30):
    state, total, count = torch.zeros(batch_size, H), 0.0, 0
    for X, Y in seq_batches():
        state = state.detach()
        y = Y.T.reshape(-1)
        y_hat, state = rnn(X, state, params)
        loss = F.cross_entropy(y_hat, y)
        for p in params:
            p.grad = None
        loss.backward()
        grad_clipping(params, 1.0)
        with torch.no_grad():
            for p in params:
                p -= 1.0 * p.grad
        total += loss.item() * y.numel()
        count += y.numel()
    if epoch % 10 == 9:
        print(f"epoch {epoch + 1} perplexity {math.exp(total / count):.2f}")
print(predict("the ", 50, params))
