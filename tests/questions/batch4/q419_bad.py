import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


class KFACLike(torch.optim.Optimizer):
    """Scales each layer's step by running second moments of its input and its output's gradient."""

    def __init__(self, model, lr=0.05, damping=1e-2, decay=0.95):
        super().__init__(model.parameters(), {"lr": lr})
        self.damping, self.decay = damping, decay
        self.inputs, self.outputs = {}, {}
        self.layers = [m for m in model.modules() if isinstance(m, (nn.Linear, nn.Conv2d))]
        self.install_hooks()

    def install_hooks(self):
        for module in self.layers:
            module.register_forward_pre_hook(self.save_input)
            module.register_full_backward_hook(self.save_grad_output)

    def save_input(self, module, inputs):
        if torch.is_grad_enabled():
            new = inputs[0].detach().pow(2).mean()
            old = self.inputs.get(module, new)
            self.inputs[module] = self.decay * old + (1 - self.decay) * new

    def save_grad_output(self, module, grad_input, grad_output):
        new = grad_output[0].detach().pow(2).mean() * grad_output[0].size(0) ** 2
        old = self.outputs.get(module, new)
        self.outputs[module] = self.decay * old + (1 - self.decay) * new

    @torch.no_grad()
    def step(self, closure=None):
        lr = self.param_groups[0]["lr"]
        for module in self.layers:
            scale = 1.0 / (self.inputs[module] * self.outputs[module] + self.damping).sqrt()
            for p in module.parameters():
                p.add_(p.grad * scale, alpha=-lr)


class SmallNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(2),
        )
        self.classifier = nn.Linear(8 * 9, 4)

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


patterns = torch.randn(4, 1, 8, 8)
labels = torch.randint(0, 4, (512,))
images = patterns[labels] + torch.randn(512, 1, 8, 8)

model = SmallNet()
optimizer = KFACLike(model)
for epoch in range(6):
    total = 0.0
    for idx in torch.randperm(512).split(32):
        output = model(images[idx])
        loss = F.cross_entropy(output, labels[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch}: loss {total / 16:.4f}")
