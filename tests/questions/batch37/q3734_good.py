import torch
import torch.nn as nn

torch.manual_seed(0)
DIM, DEPTH = 16, 6


class EncoderLayer(nn.Module):
    def __init__(self, size, units):
        super().__init__()
        self.norm = nn.LayerNorm(size)
        self.w_1 = nn.Linear(size, units)
        self.w_2 = nn.Linear(units, size)

    def forward(self, xs, masks):
        return xs + self.w_2(torch.relu(self.w_1(self.norm(xs)))) * masks, masks


class Encoder(nn.Module):
    def __init__(self, size, units, num_blocks):
        super().__init__()
        self.num_blocks = num_blocks
        self.embed = nn.Linear(size, size)
        self.encoders = nn.ModuleList([EncoderLayer(size, units) for _ in range(num_blocks)])
        self.after_norm = nn.LayerNorm(size)
        self.out = nn.Linear(size, size)

    def forward(self, xs, masks):
        xs = self.embed(xs)
        for encoder in self.encoders:
            xs, masks = encoder(xs, masks)
        return self.out(self.after_norm(xs))


def make_batch(n, steps=10):
    xs = torch.randn(n, steps, DIM)
    lengths = torch.randint(4, steps + 1, (n,))
    masks = (torch.arange(steps).unsqueeze(0) < lengths.unsqueeze(1)).float().unsqueeze(-1)
    a, b = xs.roll(1, dims=-1), xs.roll(3, dims=-1)
    return xs, masks, torch.sin(2 * xs) + torch.relu(a) * torch.tanh(b) + a.abs() * xs


xs_train, m_train, y_train = make_batch(600)
xs_test, m_test, y_test = make_batch(150)
model = Encoder(DIM, 12, DEPTH)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)


def masked_mse(pred, target, masks):
    return (((pred - target) ** 2) * masks).sum() / (masks.sum() * DIM)


for epoch in range(40):
    model.train()
    perm = torch.randperm(600)
    for i in range(0, 600, 30):
        idx = perm[i:i + 30]
        loss = masked_mse(model(xs_train[idx], m_train[idx]), y_train[idx], m_train[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 8 == 7:
        model.eval()
        with torch.no_grad():
            test = masked_mse(model(xs_test, m_test), y_test, m_test).item()
        print(f"epoch {epoch + 1}: train {loss.item():.4f} test {test:.4f}")
