import torch
from torch import nn

torch.manual_seed(0)


class Decoder(nn.Module):
    def __init__(self, vocab=24, dim=32):
        super().__init__()
        self.embedding = nn.Embedding(vocab, dim)
        self.rnn = nn.RNN(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, vocab)

    def forward(self, tokens):
        return self.head(self.rnn(self.embedding(tokens))[0])


class OptimizersInBackward:
    """One optimizer for each parameter, whose step is made as soon as its gradient is there."""

    def __init__(self, model, lr):
        self.optimizers = {p: torch.optim.SGD([p], lr=lr, momentum=0.9) for p in model.parameters()}
        for p in model.parameters():
            self.optimizers[p].zero_grad()

    def step(self):
        for optimizer in self.optimizers.values():
            optimizer.step()
            optimizer.zero_grad()


def make_batch(n=16, length=20):
    start = torch.randint(0, 24, (n, 1))
    stride = torch.randint(1, 4, (n, 1))
    tokens = (start + stride * torch.arange(length)) % 24
    return tokens[:, :-1], tokens[:, 1:]


max_norm = 1.0
model = Decoder()
optimizers = OptimizersInBackward(model, lr=0.5)
for step in range(1, 601):
    tokens, labels = make_batch()
    loss = nn.functional.cross_entropy(model(tokens).flatten(0, 1), labels.flatten(), reduction="sum") / 16
    loss.backward()
    grad_norm = nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizers.step()
    if step % 100 == 0:
        print(f"step {step}: loss {loss.item() / 19:.4f}, grad norm {grad_norm.item():.4f}")
