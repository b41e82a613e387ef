import torch
import torch.nn as nn

torch.manual_seed(4)
torch.set_num_threads(1)

T, CLASSES, WIDTH = 50, 6, 48
alphas_bar = torch.cumprod(1 - torch.linspace(1e-3, 0.12, T), 0)


class LabelEmbedder(nn.Module):
    def __init__(self, num_classes, hidden, dropout_prob):
        super().__init__()
        self.embedding_table = nn.Embedding(num_classes + 1, hidden)
        self.num_classes = num_classes
        self.dropout_prob = dropout_prob

    def token_drop(self, labels):
        drop_ids = torch.rand(labels.shape[0]) < self.dropout_prob
        return torch.where(drop_ids, self.num_classes, labels)

    def forward(self, labels, train):
        if train and self.dropout_prob > 0:
            labels = self.token_drop(labels)
        return self.embedding_table(labels)


class Stage(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.mod = nn.Linear(width, 2 * width)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x, c):
        shift, scale = self.mod(c).chunk(2, dim=1)
        return x + self.mlp(self.norm(x) * (1 + scale) + shift)


class UDiT(nn.Module):
    def __init__(self):
        super().__init__()
        self.x_embed = nn.Linear(8, WIDTH)
        self.t_embed = nn.Embedding(T, WIDTH)
        self.y_embed_1 = LabelEmbedder(CLASSES, WIDTH, 0.1)
        self.y_embed_2 = LabelEmbedder(CLASSES, WIDTH, 0.1)
        self.y_embed_3 = LabelEmbedder(CLASSES, WIDTH, 0.1)
        self.stages = nn.ModuleList([Stage(WIDTH) for _ in range(3)])
        self.out = nn.Linear(WIDTH, 8)

    def forward(self, x, t, y):
        t = self.t_embed(t)
        c1 = t + self.y_embed_1(y, self.training)
        c2 = t + self.y_embed_2(y, self.training)
        c3 = t + self.y_embed_3(y, self.training)
        h = self.x_embed(x)
        for stage, c in zip(self.stages, (c1, c2, c3)):
            h = stage(h, c)
        return self.out(h)


centres = 2.0 * torch.randn(CLASSES, 8)


def noisy_batch(n):
    y = torch.randint(0, CLASSES, (n,))
    x0 = centres[y] + 0.4 * torch.randn(n, 8)
    t = torch.randint(0, T, (n,))
    eps = torch.randn_like(x0)
    ab = alphas_bar[t][:, None]
    return ab.sqrt() * x0 + (1 - ab).sqrt() * eps, t, y, eps


model = UDiT()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.0)
model.train()
for step in range(900):
    xt, t, y, eps = noisy_batch(128)
    loss = ((model(xt, t, y) - eps) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 150 == 149:
        print(f"step {step + 1} train loss {loss.item():.4f}")

model.eval()
with torch.no_grad():
    xt, t, y, eps = noisy_batch(4000)
    cond = ((model(xt, t, y) - eps) ** 2).mean().item()
    uncond = ((model(xt, t, torch.full_like(y, CLASSES)) - eps) ** 2).mean().item()
print(f"eval: conditional mse {cond:.4f}, unconditional mse {uncond:.4f}")
