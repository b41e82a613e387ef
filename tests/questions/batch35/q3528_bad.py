import gc

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(7)


class DepthNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Conv2d(1 if i == 0 else 8, 8, 3, padding=1) for i in range(6)])
        self.head = nn.Conv2d(8, 1, 1)

    def forward(self, x):
        for layer in self.layers:
            x = F.elu(layer(x))
        return F.softplus(self.head(x))


class ModelWrapper(nn.Module):
    def __init__(self):
        super().__init__()
        self.depth_net = DepthNet()

    def training_step(self, batch):
        inv_depth = self.depth_net(batch["rgb"])
        photometric = (inv_depth - batch["depth"]).abs().mean()
        smooth = (inv_depth[..., 1:] - inv_depth[..., :-1]).abs().mean()
        loss = photometric + 0.01 * smooth
        return {"loss": loss, "metrics": {"photometric": photometric, "smooth": smooth}}

    def training_epoch_end(self, outputs):
        return torch.stack([output["loss"] for output in outputs]).mean()


class Trainer:
    def __init__(self, max_epochs):
        self.max_epochs = max_epochs

    def fit(self, module, loader):
        optimizer = torch.optim.Adam(module.parameters(), lr=3e-3)
        for epoch in range(self.max_epochs):
            average, graphs = self.train(loader, module, optimizer)
            print(f"epoch {epoch}: loss {average:.4f}, outputs with a graph {graphs}")

    def train(self, loader, module, optimizer):
        outputs = []
        for batch in loader:
            optimizer.zero_grad()
            output = module.training_step(batch)
            output["loss"].backward()
            optimizer.step()
            outputs.append(output)
        gc.collect()
        graphs = sum(output["loss"].grad_fn is not None for output in outputs)
        return module.training_epoch_end(outputs).item(), graphs


def make_loader(count):
    batches = []
    for _ in range(count):
        rgb = torch.rand(4, 1, 12, 12)
        batches.append({"rgb": rgb, "depth": F.avg_pool2d(rgb, 3, 1, 1) + 0.5})
    return batches


Trainer(3).fit(ModelWrapper(), make_loader(60))
