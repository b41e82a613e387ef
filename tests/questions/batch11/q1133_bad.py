import torch
import torch.nn as nn


class DeepSurv(nn.Module):
    def __init__(self, dims=(10, 17, 17, 1), drop=0.1):
        super().__init__()
        layers = []
        for i in range(len(dims) - 1):
            if i:
                layers.append(nn.Dropout(drop))
            layers.append(nn.Linear(dims[i], dims[i + 1]))
            if i < len(dims) - 2:
                layers += [nn.BatchNorm1d(dims[i + 1]), nn.SELU()]
        self.model = nn.Sequential(*layers)

    def forward(self, x):
        return self.model(x)


class NegativeLogLikelihood(nn.Module):
    def __init__(self, l2_reg=1e-3):
        super().__init__()
        self.l2_reg = l2_reg

    def forward(self, risk_pred, y, e, model):
        mask = torch.ones(y.shape[0], y.shape[0])
        mask[(y.T - y) > 0] = 0
        log_loss = torch.exp(risk_pred) * mask
        log_loss = torch.sum(log_loss, dim=0) / torch.sum(mask, dim=0)
        log_loss = torch.log(log_loss).reshape(-1, 1)
        neg_log_loss = -torch.sum((risk_pred - log_loss) * e) / torch.sum(e)
        l2_loss = sum(torch.norm(w, p=2) for name, w in model.named_parameters() if "weight" in name)
        return neg_log_loss + self.l2_reg * l2_loss


def c_index(risk, y, e):
    hits = pairs = 0.0
    for i in range(len(y)):
        if e[i]:
            later = y > y[i]
            hits += (risk[later] < risk[i]).sum().item()
            pairs += later.sum().item()
    return hits / pairs


def simulate(n):
    x = torch.rand(n, 10) * 2 - 1
    risk = 2.0 * x[:, :1] + x[:, 1:2] ** 2
    time = torch.distributions.Exponential(torch.exp(risk)).sample()
    censor = torch.distributions.Exponential(torch.full_like(time, 0.3)).sample()
    return x, torch.min(time, censor), (time <= censor).float()


def train():
    torch.manual_seed(26)
    x, y, e = simulate(400)
    xt, yt, et = simulate(300)
    model = DeepSurv()
    criterion = NegativeLogLikelihood()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(1, 121):
        model.train()
        loss = criterion(model(x), y, e, model)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if epoch % 30 == 0:
            model.eval()
            with torch.no_grad():
                ci = c_index(model(xt).squeeze(1), yt.squeeze(1), et.squeeze(1))
            print(f"Epoch {epoch}: loss {loss.item():.4f}  c-index {ci:.4f}")


train()
