import copy
import io

import torch
import torch.nn as nn

torch.manual_seed(8)
x = torch.randn(1200, 8)
w = torch.randn(8, 1)
y = x @ w + 0.8 * torch.randn(1200, 1)
test_x = torch.randn(500, 8)
test_y = test_x @ w


class EMAHook:
    def __init__(self, model, momentum=0.02):
        self.ema = copy.deepcopy(model)
        self.momentum = momentum
        for p in self.ema.parameters():
            p.requires_grad_(False)

    @torch.no_grad()
    def after_iter(self, model):
        for avg, src in zip(self.ema.parameters(), model.parameters()):
            avg.lerp_(src, self.momentum)

    def swap_parameters(self, model):
        for avg, src in zip(self.ema.parameters(), model.parameters()):
            avg.data, src.data = src.data, avg.data

    def before_save_checkpoint(self, model, checkpoint):
        self.swap_parameters(model)
        checkpoint["state_dict"] = model.state_dict()

    def after_save_checkpoint(self, model):
        self.swap_parameters(model)


def build():
    return nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))


model = build()
hook = EMAHook(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
criterion = nn.MSELoss()
for step in range(1500):
    idx = torch.randint(0, 1200, (4,))
    optimizer.zero_grad()
    loss = criterion(model(x[idx]), y[idx])
    loss.backward()
    optimizer.step()
    hook.after_iter(model)

file = io.BytesIO()
checkpoint = {"step": 1500, "state_dict": model.state_dict()}
hook.before_save_checkpoint(model, checkpoint)
torch.save(checkpoint, file)
hook.after_save_checkpoint(model)

file.seek(0)
deployed = build()
deployed.load_state_dict(torch.load(file)["state_dict"])
deployed.eval()
hook.ema.eval()
with torch.no_grad():
    print(f"averaged model, test error {criterion(hook.ema(test_x), test_y).item():.4f}")
    print(f"loaded checkpoint, test error {criterion(deployed(test_x), test_y).item():.4f}")
