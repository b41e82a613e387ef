import torch
import torch.nn as nn

torch.manual_seed(0)
torch.set_num_threads(1)


class RevIN(nn.Module):
    def __init__(self, n_features, eps=1e-9):
        super().__init__()
        self.eps = eps
        self.affine_weight = nn.Parameter(torch.ones(n_features))
        self.affine_bias = nn.Parameter(torch.zeros(n_features))

    def forward(self, x, missing_mask=None, mode="norm"):
        if mode == "norm":
            return self._normalize(x, missing_mask)
        return self._denormalize(x)

    def _normalize(self, x, missing_mask):
        if missing_mask is None:
            self.mean = x.mean(1, keepdim=True).detach()
            self.stdev = torch.sqrt(x.var(1, keepdim=True, unbiased=False) + self.eps).detach()
            x = x - self.mean
            x = x / self.stdev
        else:
            observed = missing_mask.sum(1, keepdim=True) + self.eps
            self.mean = ((x * missing_mask).sum(1, keepdim=True) / observed).detach()
            x = (x - self.mean).masked_fill(missing_mask == 0, 0)
            variance = (x * x).sum(1, keepdim=True) / observed + self.eps
            self.stdev = torch.sqrt(variance).detach()
        x = x * self.affine_weight + self.affine_bias
        return x

    def _denormalize(self, x):
        x = (x - self.affine_bias) / (self.affine_weight + self.eps)
        x = x * self.stdev
        return x + self.mean


class Imputer(nn.Module):
    def __init__(self, n_features, dim=32):
        super().__init__()
        self.revin = RevIN(n_features)
        self.inp = nn.Linear(2 * n_features, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * dim, n_features)

    def forward(self, x, mask):
        z = self.revin(x, mask, mode="norm")
        h = torch.tanh(self.inp(torch.cat([z, mask], -1)))
        return self.revin(self.out(self.rnn(h)[0]), mode="denorm")


def make_series(n, steps=24):
    t = torch.arange(steps)[None, :, None].float()
    phase = torch.rand(n, 1, 4) * 6.28
    scale = torch.tensor([0.05, 2.0, 40.0, 300.0])
    return scale * (3 * torch.rand(n, 1, 4) + torch.sin(0.4 * t + phase) + 0.1 * torch.randn(n, steps, 4)), scale


X, scale = make_series(512)
X_val, _ = make_series(128)
model = Imputer(4)
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
for epoch in range(8):
    total, steps = 0.0, 0
    for idx in torch.randperm(len(X)).split(32):
        x = X[idx]
        mask = (torch.rand_like(x) > 0.2).float()
        pred = model(x * mask, mask)
        loss = (((pred - x) / scale).abs() * (1 - mask)).sum() / (1 - mask).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total, steps = total + loss.item(), steps + 1
    if epoch % 2 == 1:
        print(f"epoch {epoch} train MAE {total / steps:.4f}")

torch.manual_seed(7)
mask = (torch.rand_like(X_val) > 0.2).float()
with torch.no_grad():
    err = ((model(X_val * mask, mask) - X_val) / scale).abs() * (1 - mask)
print("validation MAE of each feature", (err.sum((0, 1)) / (1 - mask).sum((0, 1))).tolist())
