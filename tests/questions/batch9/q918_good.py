"""Fine-tuning with a recipe: a modifier freezes the backbone from its start epoch on."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(16, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU())
        self.classifier = nn.Linear(48, 3)

    def forward(self, x):
        return self.classifier(self.backbone(x))


class TrainableParamsModifier:
    def __init__(self, prefix, trainable, start_epoch=0):
        self.prefix, self.trainable, self.start_epoch = prefix, trainable, start_epoch
        self.applied = False

    def update(self, module, epoch):
        if self.applied or epoch < self.start_epoch:
            return
        for name, param in module.named_parameters():
            if name.startswith(self.prefix):
                param.requires_grad = self.trainable
        self.applied = True


class RecipeManager:
    def __init__(self, module, modifiers):
        self.module, self.modifiers = module, modifiers

    def update(self, epoch):
        for modifier in self.modifiers:
            modifier.update(self.module, epoch)


x = torch.randn(600, 16)
y = (x[:, :3] * x[:, 3:6]).argmax(1)

model = Net()
pretrained = {k: v.clone() for k, v in model.state_dict().items()}
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
manager = RecipeManager(model, [TrainableParamsModifier("backbone", trainable=False)])

for epoch in range(8):
    total = 0.0
    for i in range(0, 600, 60):
        manager.update(epoch)
        loss = F.cross_entropy(model(x[i : i + 60]), y[i : i + 60])
        optimizer.zero_grad(set_to_none=False)
        loss.backward()
        optimizer.step()
        total += loss.item()
    moved = max(
        (p - pretrained[n]).abs().max().item() for n, p in model.named_parameters() if "backbone" in n
    )
    print(f"epoch {epoch}: loss {total / 10:.4f} backbone moved {moved:.5f}")
