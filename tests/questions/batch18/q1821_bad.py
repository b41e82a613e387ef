import torch
from torch import nn
from torch.optim import Optimizer

torch.manual_seed(0)
vocab_size, embed_dim, n_classes, seq_len = 120, 16, 3, 10


class DFW(Optimizer):
    def __init__(self, params, eta, momentum=0.9, weight_decay=1e-4, eps=1e-5):
        super().__init__(params, dict(eta=eta, momentum=momentum, weight_decay=weight_decay))
        self.eps = eps
        for group in self.param_groups:
            for param in group["params"]:
                self.state[param]["momentum_buffer"] = torch.zeros_like(param)

    @torch.no_grad()
    def step(self, closure):
        loss = closure()
        directions = {}
        num, denom = 0.0, 0.0
        for group in self.param_groups:
            for param in group["params"]:
                delta = param.grad.data
                reg = group["weight_decay"] * param.data
                directions[param] = (delta, reg)
                num -= group["eta"] * (delta * reg).sum()
                denom += group["eta"] * delta.norm() ** 2
        gamma = float(((num + loss) / (denom + self.eps)).clamp(0.0, 1.0))
        for group in self.param_groups:
            for param in group["params"]:
                if param not in directions:
                    continue
                delta, reg = directions[param]
                move = group["eta"] * (reg + gamma * delta)
                buffer = self.state[param]["momentum_buffer"]
                buffer.mul_(group["momentum"]).sub_(move)
                param.sub_(move).add_(group["momentum"] * buffer)
        return gamma


class TextEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embed_dim)
        self.embedding.weight.requires_grad = False
        self.lstm = nn.LSTM(embed_dim, 32, batch_first=True)
        self.classifier = nn.Linear(32, n_classes)

    def forward(self, tokens):
        hidden, _ = self.lstm(self.embedding(tokens))
        return self.classifier(hidden.mean(dim=1))


def load_batch(n=64):
    label = torch.randint(0, n_classes, (n,))
    topical = torch.randint(0, vocab_size // n_classes, (n, seq_len)) + label.unsqueeze(1) * (
        vocab_size // n_classes
    )
    common = torch.randint(0, vocab_size, (n, seq_len))
    return torch.where(torch.rand(n, seq_len) < 0.4, topical, common), label


model = TextEncoder()
criterion = nn.MultiMarginLoss()
optimizer = DFW(model.parameters(), eta=0.1)
for step in range(300):
    tokens, label = load_batch()
    optimizer.zero_grad()
    scores = model(tokens)
    loss = criterion(scores, label)
    loss.backward()
    gamma = optimizer.step(lambda: float(loss))
    if (step + 1) % 100 == 0:
        accuracy = (scores.argmax(1) == label).float().mean().item()
        print(
            f"step {step + 1}: hinge loss {loss.item():.4f}  accuracy {accuracy:.3f}  step size {gamma:.3f}"
        )
