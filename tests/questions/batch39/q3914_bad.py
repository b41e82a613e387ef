import torch
import torch.nn as nn
import torch.nn.functional as F


class EWCPlugin:
    def __init__(self, ewc_lambda):
        self.ewc_lambda = ewc_lambda
        self.saved_params = {}
        self.importances = {}

    def before_backward(self, model, exp_counter):
        penalty = torch.tensor(0.0)
        if exp_counter == 0:
            return penalty
        for experience in range(exp_counter):
            for k, cur_param in model.named_parameters():
                if k not in self.saved_params[experience]:
                    continue
                saved_param = self.saved_params[experience][k]
                imp = self.importances[experience][k]
                n_units = saved_param.shape[0]
                cur_param = saved_param[:n_units]
                penalty += (imp * (cur_param - saved_param).pow(2)).sum()
        return self.ewc_lambda * penalty

    def after_training_exp(self, model, x, y, exp_counter):
        imp = {k: torch.zeros_like(p) for k, p in model.named_parameters()}
        model.eval()
        for i in range(200):
            model.zero_grad()
            F.cross_entropy(model(x[i:i + 1]), y[i:i + 1]).backward()
            for k, p in model.named_parameters():
                imp[k] += p.grad.detach() ** 2 / 200
        model.zero_grad()
        self.importances[exp_counter] = imp
        self.saved_params[exp_counter] = {k: p.detach().clone() for k, p in model.named_parameters()}


class IncrementalMLP(nn.Module):
    def __init__(self, inputs=20, hidden=64, outputs=2):
        super().__init__()
        self.fc = nn.Linear(inputs, hidden)
        self.out = nn.Linear(hidden, outputs)

    def forward(self, x):
        return self.out(torch.relu(self.fc(x)))


def experience(seed):
    g = torch.Generator().manual_seed(seed)
    direction, active = torch.randn(20, generator=g), torch.zeros(20)
    active[10 * seed:10 * seed + 10] = 1.0
    x = torch.randn(1500, 20, generator=g) * (0.3 + active)
    y = ((x * active) @ direction > 0).long()
    return x[:1000], y[:1000], x[1000:], y[1000:]


def accuracy(model, x, y):
    with torch.no_grad():
        return 100 * (model(x).argmax(1) == y).float().mean().item()


torch.manual_seed(0)
model = IncrementalMLP()
plugin = EWCPlugin(ewc_lambda=200.0)
stream = [experience(0), experience(1)]
for exp_counter, (x, y, _, _) in enumerate(stream):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for epoch in range(15):
        for i in torch.randperm(len(x)).split(50):
            loss = F.cross_entropy(model(x[i]), y[i])
            penalty = plugin.before_backward(model, exp_counter)
            optimizer.zero_grad()
            (loss + penalty).backward()
            optimizer.step()
    plugin.after_training_exp(model, x, y, exp_counter)
    print(f"experience {exp_counter} loss {loss.item():.4f} penalty {penalty.item():.6f} "
          + " ".join(f"accuracy on {j} {accuracy(model, xt, yt):.1f}" for j, (_, _, xt, yt) in enumerate(stream)))
